"""A tensor as an operation states it: role, named axes with their lengths, read or written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from bitgate.operation.dtype import Dtype
from bitgate.operation.tensor import GAP, Tensor


@dataclass(frozen=True)
class StatedTensor:
    """``axes``: length by one-letter name, the slowest first. ``dtype`` names the type where it is always the same;
    empty: the problem's types say it."""

    role: str
    axes: Mapping[str, int]
    is_written: bool = False
    dtype: str = ""

    def laid_out(self, dtype: Dtype, gap: bool) -> Tensor:
        """Packed, or with GAP elements after each row of the last axis."""
        lengths = tuple(self.axes.values())
        rows = [*lengths[1:-1], lengths[-1] + (GAP if gap else 0)] if len(lengths) > 1 else []
        strides = tuple(prod(rows[axis:]) for axis in range(len(lengths)))
        return Tensor(self.role, dtype, "".join(self.axes), lengths, strides)


def read(role: str, *, dtype: str = "", **axes: int) -> StatedTensor:
    """A tensor that the kernel reads: ``read("x", r=sizes.r, c=sizes.c)``. Its role is the salt of its data."""
    return StatedTensor(role, axes, dtype=dtype)


def written(role: str, *, dtype: str = "", **axes: int) -> StatedTensor:
    """The tensor that the kernel writes."""
    return StatedTensor(role, axes, is_written=True, dtype=dtype)
