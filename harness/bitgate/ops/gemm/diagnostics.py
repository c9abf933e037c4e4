"""Diagnostics of a GEMM: the rules of its wrong cells, its laws, and the words of its tensors.

Axes of laws are named after the letters of a convolution without space, as records have them: g the batch, n the rows
of C, k its columns, c the reduction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from bitgate.model.diagnostics import Diagnostics, tensor_line
from bitgate.model.finding import Finding, Rule
from bitgate.model.law import LINEAR, Axis, Law, cut, resized, turned
from bitgate.model.thread_map import Cell
from bitgate.numerics.bits import Array
from bitgate.ops.gemm.problem import GemmProblem
from bitgate.verify.diagnose import sums as aliased
from bitgate.verify.diagnose.layouts import layout_mistakes
from bitgate.verify.diagnose.mistakes import Mistake, Recomputed, explained_by
from bitgate.verify.diagnose.moved import moved
from bitgate.verify.diagnose.operations import operand_mistakes, operation_mistakes
from bitgate.verify.diagnose.places import slice_finding, tail_along, tail_of_rows
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.slices import lane_mistakes, part_finding, slice_edges, slice_mistakes, step_mistakes
from bitgate.verify.diagnose.sums import Floats, Index, SumOrder, lost_end
from bitgate.verify.diagnose.values import repeated_rows

AXES = tuple(
    Axis(letter, noun, places, resized(name), apart=letter == "g")
    for letter, name, noun, places in (
        ("g", "batch", "groups", {"in": 0, "wei": 0, "out": 0}),
        ("n", "m", "images", {"in": 1, "out": 1}),
        ("k", "n", "channels k", {"wei": 1, "out": 2}),
        ("c", "k", "channels c", {"in": 2, "wei": 2}),
    )
)

LAWS: tuple[Law, ...] = (LINEAR, *map(turned, AXES), *map(cut, AXES))


def terms(problem: GemmProblem, inputs: Mapping[str, Array], cell: Index) -> Floats:
    """Return the products of a cell of C in f64, in the order of k."""
    batch, m, n = cell
    a, b = inputs["in"][batch, m], inputs["wei"][batch, n]
    return np.asarray(a.astype(np.float64) * b.astype(np.float64))


def aliased_d(scene: Scene[GemmProblem]) -> Finding | None:
    """Find what became of a D that is in the result's buffer."""
    return aliased.aliased_d(scene, terms)


def mistaken(scene: Scene[GemmProblem]) -> Finding | None:
    """Find the defect that gives every recomputed wrong cell."""
    if not scene.inputs:
        return None
    known = Recomputed(scene, terms)
    lanes = lane_mistakes(known, known.products, "terms of K")
    steps = step_mistakes(known, known.products, scene.tile[2], scene.split_k) if scene.tile is not None else ()
    read = chain(operand_mistakes(known), layout_mistakes(known))
    return explained_by(known, chain(operation_mistakes(known), _slices(known), steps, lanes, read))


def _slices(known: Recomputed[GemmProblem]) -> Iterator[Mistake]:
    problem, tile, slices = known.scene.problem, known.scene.tile, known.scene.split_k
    if slices > 1 and tile is not None:
        edges = slice_edges(problem.k, tile[2], slices)
        yield from slice_mistakes(known, known.products, edges, tile[2], "batch item")


def missing_part(scene: Scene[GemmProblem]) -> Finding | None:
    """Find one contiguous part of K that is missing, or counted twice."""
    if not scene.inputs or scene.problem.k < 2:
        return None
    known = Recomputed(scene, terms)
    return part_finding(known, known.products, "terms of K", "split_slice" if scene.problem.is_split else "k_tail")


def wrong_batch(scene: Scene[GemmProblem]) -> Finding | None:
    """Find that only some batch items are wrong, or that they hold each other's results."""
    if scene.problem.batch < 2:
        return None
    return slice_finding(scene, axis=0, kind="wrong_group", noun="batch item")


def k_tail(scene: Scene[GemmProblem]) -> Finding | None:
    """Find a lost end of K."""
    m, n, k = scene.problem.sizes
    others = {"M": m, "N": n}
    by_k = SumOrder("channel", "terms of K", k, lambda cell: terms(scene.problem, scene.inputs, cell), others=others)
    return lost_end(scene, (by_k,))


def column_tail(scene: Scene[GemmProblem]) -> Finding | None:
    """Find that only the last columns of C are wrong."""
    return tail_along(scene, axis=2)


def moved_rows(scene: Scene[GemmProblem]) -> Finding | None:
    """Find results of other rows or columns of C."""
    return moved(scene, np.asarray, "rows of C", "columns of C")


def tile_tail(scene: Scene[GemmProblem]) -> Finding | None:
    """Find that only the last, partial tile of rows is wrong."""
    return tail_of_rows(scene, scene.wrong_along(1))


def repeated(scene: Scene[GemmProblem]) -> Finding | None:
    """Find that the same rows of every wave or tile are wrong."""
    return repeated_rows(scene, scene.wrong_along(1), f"the {scene.problem.m} rows of C")


RULES: tuple[Rule, ...] = (
    aliased_d,
    wrong_batch,
    k_tail,
    mistaken,
    missing_part,
    moved_rows,
    column_tail,
    tile_tail,
    repeated,
)
"""The order in which equally certain findings are reported."""


NAMES: Mapping[str, str] = {"in": "A", "wei": "B", "out": "C"}

_TRACED = {"in": "n_c", "wei": "k_c", "out": "n_k"}
"""Axes of A, B and C after the batch, in the letters of a convolution without space, as traces have them."""


class GemmDiagnostics(Diagnostics):
    """The explanations of a GEMM's results."""

    rules = RULES
    laws = LAWS

    def names(self, problem: GemmProblem) -> Mapping[str, str]:
        return NAMES

    def letters(self, problem: GemmProblem, role: str) -> str:
        return {"in": "bmk", "wei": "bnk"}.get(role, problem.result_letters)

    def neighbours(self, problem: GemmProblem) -> Sequence[int]:
        """Return the columns of C; the batch has a separate rule."""
        return (2,)

    def adds_to_result(self, problem: GemmProblem) -> bool:
        """Return whether slices of a split reduction meet in the result."""
        return problem.is_split

    def tensor_lines(self, problem: GemmProblem) -> list[str]:
        """Return each tensor in logical order, without the batch where it is 1: ``in_g_n_c: dim 3, ..``."""
        lines = []
        for name, tensor in problem.tensors.items():
            axes = _TRACED[name if name in _TRACED else problem.result]
            lengths, strides = tensor.lengths, tensor.strides
            if problem.batch == 1:
                lines.append(tensor_line(f"{name}_{axes}", lengths[1:], strides[1:]))
            else:
                lines.append(tensor_line(f"{name}_g_{axes}", lengths, strides))
        return lines

    def cell_lines(self, problem: GemmProblem, cell: Cell) -> Sequence[str]:
        batch, m, n = cell
        first, last = (f"A[{batch},{m},{k}] * B[{batch},{n},{k}]" for k in (0, problem.k - 1))
        return [f"inputs: {problem.k} products", f"  first {first}, last {last}"]
