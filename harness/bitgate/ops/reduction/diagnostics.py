"""What is said of results of a reduction."""

from __future__ import annotations

import numpy as np

from bitgate.model.diagnostics import Diagnostics
from bitgate.model.finding import Finding, Rule
from bitgate.ops.reduction.laws import LAWS
from bitgate.ops.reduction.problem import Kind, ReductionProblem
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import Floats, Index, SumOrder, lost_end


def row_tail(scene: Scene[ReductionProblem]) -> Finding | None:
    """The end of the row is missing from the sums."""
    if scene.problem.kind is not Kind.SUM:
        return None

    def row(cell: Index) -> Floats:
        outer, inner = cell
        return np.asarray(scene.inputs["x"][outer, :, inner].astype(np.float64))

    return lost_end(scene, (SumOrder("row", "cells of the row", scene.problem.length, row),))


class ReductionDiagnostics(Diagnostics):
    """What is said of results of a reduction."""

    rules: tuple[Rule, ...] = (row_tail,)
    laws = LAWS

    def derived(self, problem: ReductionProblem) -> tuple[str, ...]:
        return (f"{problem.outer * problem.inner} results of {problem.length} cells each",)
