"""Batched GEMM as an operation."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.operation import Operation
from bitgate.operation.foreign.program import Driver, Program
from bitgate.operations.gemm import benchdnn, ck_profiler, ck_profiler_report, spelling
from bitgate.operations.gemm.problem import GEMM_LAYOUTS, GemmProblem


class Gemm(Operation):
    name = "gemm"
    layouts = frozenset(GEMM_LAYOUTS)
    matrices = (0, 1, 2)
    problem_type = GemmProblem
    programs: Mapping[str, Program] = {
        "ckProfiler": Program(
            ck_profiler.parse,
            ck_profiler.controls,
            perf=ck_profiler.perf,
            report=ck_profiler_report.report,
            commands=tuple(ck_profiler.OPERATIONS),
        )
    }
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

    def foreign_line(self, problem: GemmProblem) -> str | None:
        return ck_profiler.ck_profiler_line(problem)


OPERATIONS = (Gemm(),)
