"""Batched GEMM as an operation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from bitgate.operation import Operation
from bitgate.operation.exactness import Exactness
from bitgate.operation.foreign.program import Driver
from bitgate.operation.insight import Insight
from bitgate.operation.space import Space
from bitgate.operations.gemm import benchdnn, spelling
from bitgate.operations.gemm.problem import GemmProblem


class Gemm(Operation):
    name = "gemm"
    problem_type = GemmProblem
    drivers: Mapping[str, Driver] = {"matmul": Driver(benchdnn.problem, benchdnn.DEFAULTS, benchdnn.DESCRIPTOR)}

    def parse(self, text: str, words: list[str]) -> GemmProblem:
        return spelling.parse(text, words)

    def spell(self, problem: GemmProblem) -> str:
        return spelling.spell(problem)

    def human(self, problem: GemmProblem) -> str:
        return spelling.human(problem)

    @cached_property
    def exactness(self) -> Exactness:
        from bitgate.operations.gemm.exactness import GemmExactness

        return GemmExactness()

    @cached_property
    def space(self) -> Space:
        from bitgate.operations.gemm.space import GemmSpace

        return GemmSpace(self)

    @cached_property
    def insight(self) -> Insight:
        from bitgate.operations.gemm.insight import GemmInsight

        return GemmInsight()


OPERATIONS = (Gemm(),)
