"""Diagnostics of a reduction: the rule of a lost end of a row, and laws.

Its rows may be in any order, and the cells of a row too, as long as no place is asked for. A sum is linear as well.
Axes are named after the letters of case ids: o outer, l the length, i inner.
"""

from __future__ import annotations

import numpy as np

from bitgate.model.diagnostics import Diagnostics
from bitgate.model.finding import Finding, Rule
from bitgate.model.law import LINEAR, Axis, Law, cut, resized, turned
from bitgate.ops.reduction.problem import Kind, ReductionProblem
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import Floats, Index, SumOrder, lost_end

ROWS = tuple(
    Axis(letter, noun, {"x": place, "y": at, "index": at}, resized(noun), indices=("index",))
    for letter, noun, place, at in (("o", "outer", 0, 0), ("i", "inner", 2, 1))
)
LENGTH = Axis("l", "length", {"x": 1}, resized("length"))

LAWS: tuple[Law, ...] = (LINEAR, *map(turned, (*ROWS, LENGTH)), *map(cut, ROWS))


def row_tail(scene: Scene[ReductionProblem]) -> Finding | None:
    """Find that the end of the row is missing from the sums."""
    if scene.problem.kind is not Kind.SUM:
        return None

    def row(cell: Index) -> Floats:
        outer, inner = cell
        return np.asarray(scene.inputs["x"][outer, :, inner].astype(np.float64))

    return lost_end(scene, (SumOrder("row", "cells of the row", scene.problem.length, row),))


class ReductionDiagnostics(Diagnostics):
    """The explanations of a reduction's results."""

    rules: tuple[Rule, ...] = (row_tail,)
    laws = LAWS

    def derived(self, problem: ReductionProblem) -> tuple[str, ...]:
        return (f"{problem.outer * problem.inner} results of {problem.length} cells each",)
