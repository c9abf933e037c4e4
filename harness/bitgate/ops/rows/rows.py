"""Rows of a matrix: types, space, judging and random words, as all operations on rows have them."""

from __future__ import annotations

from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from bitgate.model.dtype import TensorTypes
from bitgate.model.numerics import Measuring, Numerics
from bitgate.model.sized import Sized, SizedProblem
from bitgate.model.sized.numerics import SizedNumerics
from bitgate.model.sized.space import SizedSpace
from bitgate.model.space.quantity import Choice, Length, Quantity
from bitgate.model.space.threshold import COMMON, Threshold, blocks, remainder
from bitgate.numerics import counter

ELEMENTS = ("f32", "f16", "bf16")
"""The types of the elements."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EDGES = np.array((0, 31, 32, 63, 64, 127, 128, 255, 256, 257, 511, 512, 1023, 1024), np.int64)
"""Both sides of the ends of waves and blocks."""


def words(problem: SizedProblem, seed: int, role: str, axes: str = "rc") -> NDArray[np.uint64]:
    """Return one random word of 32 bits for each cell of a matrix, or for each index of one axis."""
    lengths = [getattr(problem.sizes, axis) for axis in axes]
    index = np.arange(prod(lengths), dtype=np.uint64).reshape(lengths)
    return np.asarray(counter.words(counter.stream(seed, role), index) >> np.uint64(32))


def real(found: NDArray[np.uint64]) -> Floats:
    """Return words as real numbers in [-1, 1)."""
    return found.astype(np.float64) / 2.0**31 - 1


class RowNumerics(SizedNumerics):
    """The judging of an operation on rows."""

    def terms(self, problem: SizedProblem) -> int:
        """Return the length of a row: each cell of a result depends on all of it."""
        length: int = problem.sizes.c
        return length

    def largest_sum(self, problem: SizedProblem, measuring: Measuring) -> float:
        """Return 0: laws make their data exact, so no sum limits them."""
        return 0.0


class RowSpace(SizedSpace):
    """The space of an operation on rows: an instance's tile says how many rows, and cells of each, a block has."""

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        places = {"r": 0, "c": 2}
        own = (Length(one.name, places[one.name]) if isinstance(one, Length) else one for one in super().quantities)
        types = Choice("dtypes", tuple(map(TensorTypes.parse, ELEMENTS)))
        return tuple(types if one.name == "dtypes" else one for one in own)

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        return (*_THRESHOLDS, *COMMON)


_THRESHOLDS = (
    Threshold("row_tail", "whole tiles", "a ragged tile", 0, remainder(lambda way: int(way.problem.sizes.c), 2)),
    Threshold("row", "one tile", "several tiles", 1, blocks(lambda way: int(way.problem.sizes.c), 2)),
)


class RowOperation(Sized):
    """An operation that makes of each row of ``x`` one of ``y``."""

    @cached_property
    def numerics(self) -> Numerics:
        return RowNumerics(self)
