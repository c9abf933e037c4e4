"""The judging of a reduction: its fills and the form of a sum.

A maximum is one element of x, so results on all fills are exact; the fills differ in which mistakes they show. Sums of
integers wrap at 32 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype
from bitgate.model.fill import CORE_FILLS, Fill, Integers
from bitgate.model.form import Array, Form
from bitgate.model.numerics import Numerics
from bitgate.numerics import counter
from bitgate.numerics.special import specials
from bitgate.ops.reduction.problem import Kind, ReductionProblem
from bitgate.ops.reduction.reference import ordered_maxima, ordered_sums

REACH = 5
"""The largest integer of ties, whose types hold -REACH to REACH."""
TOPS = 7
"""The number of different largest numbers, so that a row's result is seldom its neighbour's."""

KEPT = 16
"""The cells of a long row that are not 0 in sparse data, on average: half of them are above 0, so that of 3,000 rows
one has no maximum above 0."""
WIDEST = 2**30
"""The largest integer of sparse data: i32 has ones that f32 does not hold."""

BLOCK = 256
"""The threads of our kernels' blocks: maxima are on both sides of where a tile ends."""

Cells = Mapping[str, NDArray[np.float64]]


def _words(problem: ReductionProblem, seed: int) -> NDArray[np.uint64]:
    """Return one random word for each cell of x."""
    index = np.arange(problem.flops, dtype=np.uint64).reshape(problem.outer, problem.length, problem.inner)
    return counter.words(counter.stream(seed, "x"), index)


def _rows(problem: ReductionProblem, seed: int) -> NDArray[np.int64]:
    """Return the number of each row, shape (outer, 1, inner)."""
    return (np.arange(problem.outer * problem.inner, dtype=np.int64) + seed).reshape(problem.outer, 1, problem.inner)


def ties(problem: ReductionProblem, seed: int) -> Cells:
    """Return small integers, cut off to a row's largest number: most rows hold it often."""
    cells = counter.integers(_words(problem, seed), REACH, counter.FULL_DENSITY)
    tops = REACH - 1 - _rows(problem, seed) % TOPS
    return {"x": np.minimum(cells, tops).astype(np.float64)}


def negative(problem: ReductionProblem, seed: int) -> Cells:
    """Return -15 to -10 with many ties, and one of -8 to -1 in each row, at a place that changes from row to row."""
    cells = counter.integers(_words(problem, seed), 2, counter.FULL_DENSITY).astype(np.float64) - 13
    places, rows = np.array(_places(problem.length), np.int64), _rows(problem, seed)
    np.put_along_axis(cells, places[rows % len(places)], -1.0 - rows % 8, axis=1)
    return {"x": cells}


def _places(length: int) -> tuple[int, ...]:
    """Return the last cell, the first, the last tile's first, and both sides of the ends of waves and blocks."""
    last_tile = (length - 1) // BLOCK * BLOCK
    every = (length - 1, 0, last_tile, last_tile - 1, 31, 32, 63, 64, length // 2)
    return tuple(dict.fromkeys(place for place in every if 0 <= place < length))


def late(problem: ReductionProblem, seed: int) -> Cells:
    """Return -4 to 4; a larger number is first in the second half of a row, and in half of the cells after it."""
    words, rows = _words(problem, seed), _rows(problem, seed)
    cells = counter.integers(words, REACH - 1, counter.FULL_DENSITY).astype(np.float64)
    place = np.arange(problem.length, dtype=np.int64).reshape(1, -1, 1)
    first = problem.length - 1 - rows * 31 % (problem.length // 2 + 1)
    is_top = (place == first) | ((place > first) & (words % np.uint64(2) == 0))
    return {"x": np.where(is_top, REACH + 1.0 + rows % 3, cells)}


def edges(problem: ReductionProblem, seed: int) -> Cells:
    """Return rows of four kinds, interleaved: edges of the type.

    They are zeros of both signs; the type's edges without NaN; the lowest numbers and -inf; NaN of both signs among
    them.
    """
    words = _words(problem, seed) >> np.uint64(32)
    dtype = problem.dtypes.inp
    bits = np.array([special.bits for special in specials(dtype, dtype)], dtype.bits)
    every = bits.view(dtype.numpy).astype(np.float64)
    # numpy's own choice depends on the CPU, and some of its sorts make one zero of two.
    ordered = np.sort(every[~np.isnan(every)], kind="stable")
    pools = (np.array([-0.0, 0.0, -0.0, -0.0]), ordered, ordered[:2], np.append(every, -1.0))
    cells = np.empty(words.shape, np.float64)
    for turn, pool in enumerate(pools):
        rows = slice((turn + seed) % len(pools), None, len(pools))
        cells[rows] = pool[(words[rows] % np.uint64(len(pool))).astype(np.int64)]
    is_turned = np.isnan(cells) & (words >> np.uint64(16) & np.uint64(1) == 1)
    return {"x": np.where(is_turned, np.copysign(cells, -1.0), cells)}


def wrapping(problem: ReductionProblem, seed: int) -> Cells:
    """Return numbers near both ends of the type, with one sign in each row: sums of a few cells of i32 already wrap,
    and those of i8 are soon beyond 16 bits.
    """
    words = _words(problem, seed) >> np.uint64(32)
    near = (words % np.uint64(97 if problem.dtypes.inp.bytes > 1 else 7)).astype(np.float64)
    signs = 1.0 - 2.0 * (_rows(problem, seed) % 2)
    limits = np.iinfo(problem.dtypes.inp.numpy)
    return {"x": np.where(signs > 0, limits.max - near, near + limits.min)}


def sparse(problem: ReductionProblem) -> Integers:
    """Return integers over the type's exact range, of which a long row has few that are not 0.

    The largest of many cells would be the largest of all integers in every row, and a wrong row would have it too.
    """
    return Integers(min(problem.dtypes.inp.exact_integer, WIDEST), min(1.0, KEPT / problem.length))


WRAP = Fill("wrap", "integers are summed modulo 2^32, which is the same in any order", wrapping, exact=True)
"""The fill for sums of integers."""

MAXIMA = (
    Fill(
        "exact", "a maximum is one of the integers that it is taken of; most stand several times in a row", ties, True
    ),
    Fill("negative", "a maximum below zero, once in a row, at a place where tiles begin or end", negative, True),
    Fill("late", "a maximum that several tiles or slices hold, the first of them in a row's second half", late, True),
    Fill("sparse", "a maximum is one of a row's few integers, seldom its neighbour's", exact=True, integers=sparse),
)
"""The fills for elements of any type."""
EDGES = Fill("edges", "a maximum is one of the numbers at the type's edges, by the order that is stated", edges, True)
"""The fill for floats."""


class SumForm(Form):
    """y[o,i] = sum over l of x[o,l,i]."""

    axes = MappingProxyType({"x": ("o", "l", "i"), "y": ("o", "i")})
    result = "y"

    def apply(self, arrays: Mapping[str, Array]) -> Array:
        return np.asarray(arrays["x"].sum(axis=1))


_FORM = SumForm()
_BY_NAME = {fill.name: fill for fill in CORE_FILLS}
_OF_INTEGERS = tuple(_BY_NAME[name] for name in ("exact", "probe"))
_OF_FLOATS = tuple(_BY_NAME[name] for name in ("exact", "decimal", "special", "probe"))


class ReductionNumerics(Numerics):
    """A sum is linear, and all follows from its form. A maximum moves bits: any data are exact, and fills differ in
    what they show."""

    own_fills = tuple(fill.name for fill in (*MAXIMA, EDGES, WRAP) if fill.name not in _BY_NAME)
    states_order = True

    def form(self, problem: ReductionProblem) -> Form | None:
        return _FORM if problem.kind is Kind.SUM else None

    def fills(self, problem: ReductionProblem) -> tuple[Fill, ...]:
        is_float = problem.dtypes.inp.is_float
        if problem.kind is Kind.SUM:
            return _OF_FLOATS if is_float else (*_OF_INTEGERS, WRAP)
        return (*MAXIMA, EDGES) if is_float else MAXIMA

    def operands(self, problem: ReductionProblem) -> tuple[str, ...]:
        return ("x",)

    def terms(self, problem: ReductionProblem) -> int:
        return problem.length

    def slices(self, problem: ReductionProblem) -> int:
        return problem.split_k

    def ordered_sums(
        self, problem: ReductionProblem, arrays: Mapping[str, Array], accumulator: Dtype, threads: int
    ) -> Array:
        in_order = ordered_sums if problem.kind is Kind.SUM else ordered_maxima
        return in_order(arrays["x"], accumulator)
