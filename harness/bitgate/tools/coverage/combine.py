"""Bulk operations on sets of classes: the combinations of t classes that a matrix of class indices contains."""

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
    """All combinations of ``strength`` classes of different factors, numbered.

    Those of one factor set are contiguous from ``offsets[set]`` on, the last factor varying fastest. ``sizes``: classes
    of each factor.
    """

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
        """Return the numbers of classes of the factors of set ``number``."""
        return tuple(self.sizes[f] for f in self.sets[number])

    def of_set(self, flags: Flags, number: int) -> Flags:
        """Return the flags of one factor set, one axis a factor."""
        return flags[self.offsets[number] : self.offsets[number + 1]].reshape(self.shape(number))

    def present(self, codes: Codes) -> Flags:
        """Flag the combinations that occur in the rows of ``codes`` (rows, factors).

        The classes of a row are bits of one word. Rows that agree in the first t - 1 factors of a set are joined by OR.
        The result holds, for every further factor at once, the classes that occur together with them.
        """
        flags = np.zeros(len(self), dtype=np.bool_)
        if len(codes) == 0:
            return flags
        bits, first_bit = _one_hot(codes, self.sizes)
        number = 0
        for head in combinations(range(len(self.sizes) - 1), self.strength - 1):
            value = _radix(codes, self.sizes, head)
            order = np.argsort(value, kind="stable")
            ordered = value[order]
            starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
            words = np.bitwise_or.reduceat(bits[order], starts)
            joined = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
            for last in range(head[-1] + 1 if head else 0, len(self.sizes)):
                block = flags[self.offsets[number] : self.offsets[number + 1]].reshape(-1, self.sizes[last])
                block[ordered[starts]] = joined[:, first_bit[last] : first_bit[last] + self.sizes[last]]
                number += 1
        return flags

    def index(self, codes: Codes) -> Index:
        """Return the number of every combination of every row: (rows, sets)."""
        sets = np.array(self.sets, dtype=np.int64)
        sizes = np.array(self.sizes, dtype=np.int64)
        numbers = np.zeros((len(codes), len(sets)), dtype=np.int64)
        for position in range(self.strength):
            numbers = numbers * sizes[sets[:, position]] + codes[:, sets[:, position]]
        return numbers + self.offsets[:-1]

    def decode(self, number: int) -> tuple[tuple[int, int], ...]:
        """Return the (factor, class) pairs of one combination."""
        at = int(np.searchsorted(self.offsets, number, side="right")) - 1
        classes = np.unravel_index(number - int(self.offsets[at]), self.shape(at))
        return tuple((f, int(c)) for f, c in zip(self.sets[at], classes, strict=True))

    def any_of(self, marked: list[Flags]) -> Flags:
        """Flag the combinations with at least one marked class; ``marked[f]`` flags the classes of factor f."""
        flags = np.zeros(len(self), dtype=np.bool_)
        for number, factors in enumerate(self.sets):
            block = self.of_set(flags, number)
            for axis, f in enumerate(factors):
                block |= marked[f].reshape([-1 if a == axis else 1 for a in range(self.strength)])
        return flags


def _radix(codes: Codes, sizes: tuple[int, ...], factors: tuple[int, ...]) -> NDArray[np.int32]:
    """Number each row's classes among all class combinations of these factors."""
    value = np.zeros(len(codes), dtype=np.int32)
    for f in factors:
        value = value * np.int32(sizes[f]) + codes[:, f]
    return value.astype(np.int16) if prod(sizes[f] for f in factors) < 2**15 else value


def _one_hot(codes: Codes, sizes: tuple[int, ...]) -> tuple[NDArray[np.uint64], tuple[int, ...]]:
    """Return one bit a class, in words of 64 bits: (rows, words), and where the bits of each factor begin."""
    first = tuple(sum(sizes[:f]) for f in range(len(sizes)))
    bits = np.zeros((len(codes), -(-sum(sizes) // 64)), dtype="<u8")
    rows = np.arange(len(codes))
    for f, begin in enumerate(first):
        at = begin + codes[:, f].astype(np.int64)
        bits[rows, at // 64] |= np.uint64(1) << (at % 64).astype(np.uint64)
    return bits, first
