"""One tensor of a problem: a role, a type, and a logical shape with strides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from bitgate.model.dtype import Dtype

GAP = 8
"""Elements that ``gap`` adds to the pitch of each tensor's fastest row: 16 bytes in f16, so vectors stay aligned."""


@dataclass(frozen=True)
class Tensor:
    """A tensor: ``name`` is the role (``in``, ``wei``, ``out``, ``d0``), ``layout`` the usual name of the order of its
    axes.

    ``strides`` count elements; 0 broadcasts.
    """

    name: str
    dtype: Dtype
    layout: str
    lengths: tuple[int, ...]
    strides: tuple[int, ...]

    def __hash__(self) -> int:
        return self._hash  # tensors are keys of many caches

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.dtype, self.layout, self.lengths, self.strides))

    def __getstate__(self) -> dict[str, object]:
        """Leave out the hash: each process has different hashes of text."""
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    @cached_property
    def has_gaps(self) -> bool:
        """Is there memory between its cells? (Broadcast lengths, stride 0, share one cell.)"""
        pairs = zip(self.lengths, self.strides, strict=True)
        return self.space != prod(length for length, stride in pairs if stride != 0)

    @cached_property
    def elements(self) -> int:
        """Logical elements (no gaps)."""
        return prod(self.lengths)

    @cached_property
    def space(self) -> int:
        """Elements from the first to the last cell in memory, gaps included."""
        return element_space(self.lengths, self.strides)

    @cached_property
    def bytes(self) -> int:
        return self.space * self.dtype.bytes

    @cached_property
    def moved_bytes(self) -> int:
        """The bytes of its cells, each once: gaps are not moved, and a broadcast cell is not moved again."""
        cells = prod(length for length, stride in zip(self.lengths, self.strides, strict=True) if stride)
        return cells * self.dtype.bytes


def element_space(lengths: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Return elements from the first to the last cell, gaps between them included; 0 if empty."""
    if prod(lengths) == 0:
        return 0
    return 1 + sum((length - 1) * stride for length, stride in zip(lengths, strides, strict=True))
