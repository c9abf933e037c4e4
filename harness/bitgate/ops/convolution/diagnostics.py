"""Diagnostics of a convolution: its rules and laws, the facts of its launches, and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bitgate.kernel.declaration import Instance
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.model.diagnostics import Diagnostics
from bitgate.model.figure import Figure
from bitgate.model.thread_map import Cell, ThreadMap
from bitgate.ops.convolution import drawing
from bitgate.ops.convolution.contributions import contribution_lines
from bitgate.ops.convolution.figures import figures, sub_gemm_line
from bitgate.ops.convolution.launches import launch_errors, traced_descriptors, traced_tensors
from bitgate.ops.convolution.laws import LAWS, passes
from bitgate.ops.convolution.layout import input_letters, output_letters, weight_letters
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.rules import RULES

NAMES: Mapping[Pass, Mapping[str, str]] = {
    Pass.FWD: {"in": "x", "wei": "w", "out": "y"},
    Pass.BWD_DATA: {"in": "dx", "wei": "w", "out": "dy"},
    Pass.BWD_WEIGHT: {"in": "x", "wei": "dw", "out": "dy"},
}


class ConvolutionDiagnostics(Diagnostics):
    """The explanations of a convolution's results."""

    rules = RULES
    laws = LAWS

    def names(self, problem: ConvProblem) -> Mapping[str, str]:
        return NAMES[problem.direction]

    def letters(self, problem: ConvProblem, role: str) -> str:
        known = {"in": input_letters, "wei": weight_letters, "out": output_letters}
        return known[role](problem.ndim) if role in known else problem.result_letters

    def channel_axis(self, problem: ConvProblem) -> int:
        """Return the axis of C of dx, K of y, C of dw."""
        return 2

    def neighbours(self, problem: ConvProblem) -> Sequence[int]:
        """Return all axes but groups and images (or K of dw), which have separate rules."""
        return range(2, 3 + problem.ndim)

    def adds_to_result(self, problem: ConvProblem) -> bool:
        """Return whether slices of a split reduction meet in the result."""
        return problem.is_split

    def companions(self, problem: ConvProblem) -> tuple[ConvProblem, ...]:
        return passes(problem)

    def launch_errors(self, problem: ConvProblem, record: DispatchRecord) -> list[str]:
        return launch_errors(problem, record) if problem.direction is Pass.BWD_DATA else []

    def tensor_lines(self, problem: ConvProblem) -> list[str]:
        return traced_tensors(problem)

    def launch_lines(
        self, problem: ConvProblem, instance: Instance, record: DispatchRecord, launches: int
    ) -> list[list[str]]:
        return traced_descriptors(problem, instance, record, launches) if problem.direction is Pass.BWD_DATA else []

    def derived(self, problem: ConvProblem) -> tuple[str, ...]:
        return (f"output {'x'.join(map(str, problem.output))}",)

    def groups(self, problem: ConvProblem) -> tuple[str, ...]:
        """Return operation, types and stride: with strides backward data has several sub-GEMMs, and rows are read with
        gaps.
        """
        return problem.operation.name, str(problem.dtypes), "stride > 1" if problem.strided else "stride 1"

    def picture(self, problem: ConvProblem) -> str:
        return drawing.picture(problem)

    def cell_lines(self, problem: ConvProblem, cell: Cell) -> Sequence[str]:
        part = [sub_gemm_line(problem, cell)] if problem.direction is Pass.BWD_DATA else []
        return [*part, *contribution_lines(problem, cell)]

    def figures(self, problem: ConvProblem, threads: ThreadMap | None, cell: Cell | None) -> Sequence[Figure]:
        return figures(problem, threads, cell)
