"""Reduction as an operation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from bitgate.operation import Operation
from bitgate.operation.exactness import Exactness
from bitgate.operation.insight import Insight
from bitgate.operation.space import Space
from bitgate.operations.reduction import spelling
from bitgate.operations.reduction.problem import ReductionProblem


class Reduction(Operation):
    name = "reduction"
    problem_type = ReductionProblem

    def parse(self, text: str, words: list[str]) -> ReductionProblem:
        return spelling.parse(text, words)

    def spell(self, problem: ReductionProblem) -> str:
        return spelling.spell(problem)

    def human(self, problem: ReductionProblem) -> str:
        return spelling.human(problem)

    def reference(self, problem: ReductionProblem, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        from bitgate.operations.reduction.reference import reduced

        return reduced(problem, inputs["x"])

    @cached_property
    def exactness(self) -> Exactness:
        from bitgate.operations.reduction.exactness import ReductionExactness

        return ReductionExactness()

    @cached_property
    def space(self) -> Space:
        from bitgate.operations.reduction.space import ReductionSpace

        return ReductionSpace(self)

    @cached_property
    def insight(self) -> Insight:
        from bitgate.operations.reduction.insight import ReductionInsight

        return ReductionInsight()


OPERATIONS = (Reduction(),)
