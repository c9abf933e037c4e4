"""Diagnostics of a reduction: the rule of a lost end of a row, and laws.

Its rows may be in any order, and the cells of a row too, as long as no place is asked for. A sum is linear as well.
Axes are named after the letters of case ids: o outer, l the length, i inner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.diagnostics import Diagnostics
from bitgate.model.finding import Finding, Role, Rule
from bitgate.model.law import LINEAR, Axis, Law, cut, resized, turned
from bitgate.model.thread_map import Cell
from bitgate.numerics.bits import Array, bits_of
from bitgate.ops.reduction.problem import Kind, ReductionProblem
from bitgate.verify.diagnose.mistakes import Mistake, Recomputed, explained_by
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.slices import lane_mistakes, lost_runs, part_finding, run_of, slice_edges, slice_mistakes
from bitgate.verify.diagnose.sums import Floats, Index, SumOrder, lost_end

ROWS = tuple(
    Axis(letter, noun, {"x": place, "y": at, "index": at}, resized(noun), indices=("index",))
    for letter, noun, place, at in (("o", "outer", 0, 0), ("i", "inner", 2, 1))
)
LENGTH = Axis("l", "length", {"x": 1}, resized("length"))

Ints = NDArray[np.int64]

MANY = 4
"""Fewer indices may be those within a slice by chance."""

LAWS: tuple[Law, ...] = (LINEAR, *map(turned, (*ROWS, LENGTH)), *map(cut, ROWS))


def row_tail(scene: Scene[ReductionProblem]) -> Finding | None:
    """Find that the end of the row is missing from the sums."""
    if scene.problem.kind is not Kind.SUM:
        return None
    row = partial(terms, scene.problem, scene.inputs)
    return lost_end(scene, (SumOrder("row", "cells of the row", scene.problem.length, row),))


def terms(problem: ReductionProblem, inputs: Mapping[str, Array], cell: Index) -> Floats:
    """Return the cells of a row in f64."""
    outer, inner = cell
    return np.asarray(inputs["x"][outer, :, inner].astype(np.float64))


def mistaken(scene: Scene[ReductionProblem]) -> Finding | None:
    """Find the defect that gives every recomputed wrong sum: of slices, or of a type that saturates."""
    problem = scene.problem
    if problem.kind is not Kind.SUM or not scene.inputs:
        return None
    known = Recomputed(scene, terms)
    return explained_by(
        known,
        chain(
            _saturated(known),
            _slices(known),
            lane_mistakes(known, known.products, "cells of the row", -(-problem.length // scene.split_k)),
        ),
    )


def _saturated(known: Recomputed[ReductionProblem]) -> Iterator[Mistake]:
    dtype = known.scene.dtype
    if not dtype.is_float:
        text = f"sums beyond the range of {dtype} saturate instead of wrapping around"
        yield Mistake(text, "overflow", known.sum)


def _slices(known: Recomputed[ReductionProblem]) -> Iterator[Mistake]:
    problem = known.scene.problem
    if (slices := known.scene.split_k) > 1:
        edges = slice_edges(problem.length, 1, slices)
        yield from slice_mistakes(known, known.products, edges, 1)


def missing_part(scene: Scene[ReductionProblem]) -> Finding | None:
    """Find one contiguous part of the row that is missing from the sums, or counted twice."""
    problem = scene.problem
    if problem.kind is not Kind.SUM or not scene.inputs or problem.length < 2:
        return None
    known = Recomputed(scene, terms)
    return part_finding(known, known.products, "cells of the row", "split_slice" if problem.is_split else "k_tail")


def other_maximum(scene: Scene[ReductionProblem]) -> Finding | None:
    """Find a maximum of something else: of absolute values, the minimum, or of all cells but some."""
    if scene.problem.kind is Kind.SUM or scene.role != "y" or not scene.inputs or scene.channels is not None:
        return None
    cells = np.asarray(scene.inputs["x"])
    x = cells.astype(np.float64)
    found = scene.wrong_result.astype(np.float64)
    but_first = x[:, 1:].max(axis=1, initial=-np.inf)
    others = {
        "the largest absolute value of the row": np.abs(x).max(axis=1),
        "the smallest cell of the row": x.min(axis=1),
        "the largest cell of the row but the first one": but_first,
        "the largest cell of the row but the last one": x[:, :-1].max(axis=1, initial=-np.inf),
        "the first cell of the row": x[:, 0],
        "the last cell of the row": x[:, -1],
        "the largest cell of the row but the first one, or 0 where none is above it,": np.maximum(but_first, 0.0),
        "the largest cell of the row, or 0 where none is above it,": np.maximum(x.max(axis=1), 0.0),
        **(_by_bits(cells) if cells.dtype.kind == "i" else {}),
    }
    for text, values in others.items():
        if np.unique(found).size > 1 and np.array_equal(values[scene.wrong], found):
            return Finding("other", Role.CAUSE, 0.95, f"{scene.tensor_name} is {text} in the wrong cells")
    return None


def maximum_above_zero(scene: Scene[ReductionProblem]) -> Finding | None:
    """Find zeros in the place of every maximum below 0, and in no other."""
    if scene.problem.kind is Kind.SUM or scene.role != "y" or scene.wrong_result.astype(np.float64).any():
        return None
    if not np.array_equal(scene.reference.astype(np.float64) < 0, scene.wrong) or scene.count < MANY:
        return None
    text = "they are zero, and are all cells where a maximum below 0 is due: as of one that begins at 0"
    return Finding("zero", Role.CONTENT, 1.0, text, {"zeros": scene.count}, frozenset({"zero", "special_value"}))


def _by_bits(x: Array) -> dict[str, Floats]:
    """Return maxima of signed integers that a mistake with their sign bits leaves, with words for them."""
    bits = bits_of(x)
    turn = bits.dtype.type(1 << (8 * bits.itemsize - 1))
    top = bits.max(axis=1)

    def value(cells: NDArray[Any]) -> Floats:
        return np.asarray(cells.view(x.dtype).astype(np.float64))

    return {
        "the largest cell of the row with its sign bit turned": value(bits_of(x.max(axis=1)) ^ turn),
        "the largest cell of the row in the order of unsigned bits": value(top),
        "the largest cell of the row in the order of unsigned bits, with its sign bit turned": value(top ^ turn),
    }


def maximum_of_a_part(scene: Scene[ReductionProblem]) -> Finding | None:
    """Find a maximum of all cells but those that threads, or slices, lose again and again."""
    problem = scene.problem
    if problem.kind is Kind.SUM or scene.role != "y" or not scene.inputs or scene.channels is not None:
        return None
    x, found = np.asarray(scene.inputs["x"]).astype(np.float64), scene.result.astype(np.float64)
    if np.isnan(x).any():
        return None
    for words, kind, lost in _lost_cells(problem, scene.split_k):
        values = np.where(lost[None, :, None], -np.inf, x).max(axis=1)
        if (values == found).all() and np.unique(found[scene.wrong]).size > 1:
            text = f"{scene.tensor_name} is the largest cell of the row but {words}"
            return Finding(kind, Role.CAUSE, 0.96, text, {}, frozenset({"shifted", "k_tail", "other"}) - {kind})
    return None


def _lost_cells(problem: ReductionProblem, slices: int) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Yield words for cells of a row that may be lost, the kind, and a mask of these."""
    length = problem.length
    cells = np.arange(length)
    if slices > 1:
        edges = slice_edges(length, 1, slices)
        yield "the last one of each slice but the last", "split_slice", np.isin(cells, np.array(edges[1:-1]) - 1)
        yield "the first one of each slice but the first", "split_slice", np.isin(cells, edges[1:-1])
        for number, (begin, end) in enumerate(pairwise(edges)):
            yield f"those of slice {number + 1} of {slices}", "split_slice", (cells >= begin) & (cells < end)
    each = -(-length // slices)
    for name, period, begin, end in lost_runs(each):
        yield f"{name} of every {period}", "other", run_of(cells % each, period, begin, end)


def equal_maximum(scene: Scene[ReductionProblem]) -> Finding | None:
    """Find an argmax that holds a place of the maximum, but not the first one."""
    problem = scene.problem
    if scene.role != "index" or not scene.inputs or scene.channels is not None:
        return None
    x = np.asarray(scene.inputs["x"])
    outer, inner = np.nonzero(scene.wrong)
    found, due = scene.wrong_result.astype(np.int64), scene.wrong_reference.astype(np.int64)
    if (found < 0).any() or (found >= problem.length).any():
        return None
    ours, right = x[outer, found, inner], x[outer, due, inner]
    if not (ours == right).all():
        return None
    text = "the index is that of a later cell with the same maximum, not of the first one"
    return Finding("other", Role.CAUSE, 0.95, text, {"wrong": scene.count}, frozenset({"shifted", "other"}))


def place_in_slice(scene: Scene[ReductionProblem]) -> Finding | None:
    """Find an argmax that counts from the first cell of its slice, not from that of the row."""
    problem = scene.problem
    if scene.role != "index" or not problem.is_split or problem.split_k < 2:
        return None
    each = -(-problem.length // problem.split_k)
    found, due = scene.wrong_result.astype(np.int64), scene.wrong_reference.astype(np.int64)
    if scene.count < MANY or not _holds_in_a_slice(scene, found, due, each):
        return None
    text = f"the index counts from the first cell of its slice of {each}, not from the row's"
    return Finding("split_slice", Role.CAUSE, 0.96, text, {"slice": each}, frozenset({"shifted", "zero", "other"}))


def _holds_in_a_slice(scene: Scene[ReductionProblem], found: Ints, due: Ints, each: int) -> bool:
    """Return whether each index is the place within its slice of a cell that holds the maximum, later ones too."""
    if (found < 0).any() or (found >= each).any():
        return False
    if not scene.inputs or scene.channels is not None:
        return bool((found == due % each).all())
    x, (outer, inner) = np.asarray(scene.inputs["x"]), np.nonzero(scene.wrong)
    top, is_one = x[outer, due, inner], np.zeros(found.size, np.bool_)
    for begin in range(each, scene.problem.length, each):
        at = np.minimum(begin + found, scene.problem.length - 1)
        is_one |= (begin + found < scene.problem.length) & (x[outer, at, inner] == top)
    return bool(is_one.all())


class ReductionDiagnostics(Diagnostics):
    """The explanations of a reduction's results."""

    rules: tuple[Rule, ...] = (
        row_tail,
        mistaken,
        missing_part,
        other_maximum,
        maximum_above_zero,
        maximum_of_a_part,
        equal_maximum,
        place_in_slice,
    )
    laws = LAWS

    def derived(self, problem: ReductionProblem) -> tuple[str, ...]:
        return (f"{problem.outer * problem.inner} results of {problem.length} cells each",)

    def cell_lines(self, problem: ReductionProblem, cell: Cell) -> Sequence[str]:
        outer, inner = cell
        first, last = (f"x[{outer},{at},{inner}]" for at in (0, problem.length - 1))
        return [f"inputs: {problem.length} cells", f"  first {first}, last {last}"]
