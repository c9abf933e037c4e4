"""A tensor as an operation states it: role, named axes with their lengths, read or written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bitgate.model.dtype import Dtype
from bitgate.model.gap import Gaps, behind, strides_of
from bitgate.model.tensor import GAP, Tensor


@dataclass(frozen=True)
class StatedTensor:
    """``axes``: length by one-letter name, the slowest first. ``dtype`` names the type where it is always the same;
    empty: the problem's types say it. ``order``: the axes as they lie in memory, the slowest first; empty: as they are
    named."""

    role: str
    axes: Mapping[str, int]
    is_written: bool = False
    dtype: str = ""
    order: str = ""

    @property
    def name(self) -> str:
        """What case ids call it."""
        return self.role.replace("_", "")

    @property
    def in_memory(self) -> str:
        """The axes as they lie, the slowest first."""
        return self.order or "".join(self.axes)

    def laid_out(self, dtype: Dtype, gap: bool, gaps: Gaps = ()) -> Tensor:
        """With those of ``gaps`` that are its own; ``gap``: GAP elements behind each row of the axis that is the
        fastest in memory."""
        order = self.in_memory
        strides = strides_of(order, self.axes, behind(gaps, self.name, order[-1:], GAP if gap else 0))
        lengths = tuple(self.axes.values())
        return Tensor(self.role, dtype, "".join(self.axes), lengths, tuple(strides[name] for name in self.axes))


def read(role: str, *, dtype: str = "", order: str = "", **axes: int) -> StatedTensor:
    """A tensor that the kernel reads: ``read("x", r=sizes.r, c=sizes.c)``. Its role is the salt of its data."""
    return StatedTensor(role, axes, dtype=dtype, order=order)


def written(role: str, *, dtype: str = "", order: str = "", **axes: int) -> StatedTensor:
    """A tensor that the kernel writes."""
    return StatedTensor(role, axes, is_written=True, dtype=dtype, order=order)
