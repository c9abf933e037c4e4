"""Batched GEMM as an operation."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.operation import Operation
from bitgate.operation.foreign.program import Driver
from bitgate.operations.gemm import benchdnn, spelling
from bitgate.operations.gemm.problem import GEMM_LAYOUTS, GemmProblem


class Gemm(Operation):
    name = "gemm"
    layouts = frozenset(GEMM_LAYOUTS)
    matrices = (0, 1, 2)
    problem_type = GemmProblem
    drivers: Mapping[str, Driver] = {"matmul": Driver(benchdnn.problem, benchdnn.DEFAULTS, benchdnn.DESCRIPTOR)}
    groups: Mapping[str, str] = {
        "exactness": "bitgate.operations.gemm.exactness:GemmExactness",
        "space": "bitgate.operations.gemm.space:GemmSpace",
        "insight": "bitgate.operations.gemm.insight:GemmInsight",
    }

    def parse(self, text: str, words: list[str]) -> GemmProblem:
        return spelling.parse(text, words)

    def spell(self, problem: GemmProblem) -> str:
        return spelling.spell(problem)

    def human(self, problem: GemmProblem) -> str:
        return spelling.human(problem)


OPERATIONS = (Gemm(),)
