"""Reduction as an operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from bitgate.model import Operation
from bitgate.ops.reduction import spelling
from bitgate.ops.reduction.problem import ReductionProblem


class Reduction(Operation):
    name = "reduction"
    problem_type = ReductionProblem
    groups: Mapping[str, str] = {
        "numerics": "bitgate.ops.reduction.numerics:ReductionNumerics",
        "space": "bitgate.ops.reduction.space:ReductionSpace",
        "diagnostics": "bitgate.ops.reduction.diagnostics:ReductionDiagnostics",
    }

    def parse(self, text: str, words: list[str]) -> ReductionProblem:
        return spelling.parse(text, words)

    def spell(self, problem: ReductionProblem) -> str:
        return spelling.spell(problem)

    def human(self, problem: ReductionProblem) -> str:
        return spelling.human(problem)

    def reference(self, problem: ReductionProblem, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        from bitgate.ops.reduction.reference import reduced

        return reduced(problem, inputs["x"])


OPERATIONS = (Reduction(),)
