"""Sets of classes in bulk: which combinations of t classes a matrix of class indices contains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Combinations:
    """All combinations of ``strength`` classes of different factors, numbered: those of one factor set stand together
    from ``offsets[set]`` on, the last factor varying fastest. ``sizes``: classes of each factor."""

    sizes: tuple[int, ...]
    strength: int

    @cached_property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        return tuple(combinations(range(len(self.sizes)), self.strength))

    @cached_property
    def offsets(self) -> Index:
        widths = [prod(self.sizes[f] for f in factors) for factors in self.sets]
        return np.concatenate([[0], np.cumsum(widths, dtype=np.int64)]).astype(np.int64)

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def shape(self, number: int) -> tuple[int, ...]:
        """Numbers of classes of the factors of set ``number``."""
        return tuple(self.sizes[f] for f in self.sets[number])

    def of_set(self, flags: Flags, number: int) -> Flags:
        """The flags of one factor set, one axis a factor."""
        return flags[self.offsets[number] : self.offsets[number + 1]].reshape(self.shape(number))

    def present(self, codes: Codes) -> Flags:
        """Which combinations occur in the rows of ``codes`` (rows, factors)."""
        flags = np.zeros(len(self), dtype=np.bool_)
        columns = [np.ascontiguousarray(codes[:, f]).astype(np.int32) for f in range(codes.shape[1])]
        prefix: dict[tuple[int, ...], NDArray[np.int32]] = {}
        for number, factors in enumerate(self.sets):
            head = factors[:-1]
            if head not in prefix:  # sets come in lexical order, so one prefix is live at a time
                prefix = {head: _radix(columns, self.sizes, head, len(codes))}
            value = prefix[head] * np.int32(self.sizes[factors[-1]]) + columns[factors[-1]]
            flags[self.offsets[number] : self.offsets[number + 1]][value] = True
        return flags

    def index(self, codes: Codes) -> Index:
        """The number of every combination of every row: (rows, sets)."""
        sets = np.array(self.sets, dtype=np.int64)
        sizes = np.array(self.sizes, dtype=np.int64)
        numbers = np.zeros((len(codes), len(sets)), dtype=np.int64)
        for position in range(self.strength):
            numbers = numbers * sizes[sets[:, position]] + codes[:, sets[:, position]]
        return numbers + self.offsets[:-1]

    def decode(self, number: int) -> tuple[tuple[int, int], ...]:
        """(factor, class) pairs of one combination."""
        at = int(np.searchsorted(self.offsets, number, side="right")) - 1
        classes = np.unravel_index(number - int(self.offsets[at]), self.shape(at))
        return tuple((f, int(c)) for f, c in zip(self.sets[at], classes, strict=True))

    def any_of(self, marked: list[Flags]) -> Flags:
        """Combinations with at least one marked class; ``marked[f]`` flags the classes of factor f."""
        flags = np.zeros(len(self), dtype=np.bool_)
        for number, factors in enumerate(self.sets):
            block = self.of_set(flags, number)
            for axis, f in enumerate(factors):
                block |= marked[f].reshape([-1 if a == axis else 1 for a in range(self.strength)])
        return flags


def _radix(
    columns: list[NDArray[np.int32]], sizes: tuple[int, ...], factors: tuple[int, ...], rows: int
) -> NDArray[np.int32]:
    value = np.zeros(rows, dtype=np.int32)
    for f in factors:
        value = value * np.int32(sizes[f]) + columns[f]
    return value
