"""Batched GEMM as an operation."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.model import Operation
from bitgate.ops.gemm import spelling
from bitgate.ops.gemm.problem import GEMM_LAYOUTS, GemmProblem


class Gemm(Operation):
    name = "gemm"
    layouts = frozenset(GEMM_LAYOUTS)
    matrices = (0, 1, 2)
    problem_type = GemmProblem
    groups: Mapping[str, str] = {
        "numerics": "bitgate.ops.gemm.numerics:GemmNumerics",
        "space": "bitgate.ops.gemm.space:GemmSpace",
        "diagnostics": "bitgate.ops.gemm.diagnostics:GemmDiagnostics",
    }

    def parse(self, text: str, words: list[str]) -> GemmProblem:
        return spelling.parse(text, words)

    def spell(self, problem: GemmProblem) -> str:
        return spelling.spell(problem)

    def human(self, problem: GemmProblem) -> str:
        return spelling.human(problem)


OPERATIONS = (Gemm(),)
