"""The three passes of a grouped convolution as operations."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.model import Operation
from bitgate.ops.convolution import spelling
from bitgate.ops.convolution.layout import INPUT_LAYOUTS
from bitgate.ops.convolution.problem import ConvProblem, Pass

MATRICES = {Pass.FWD: (0, 1, 2), Pass.BWD_DATA: (2, 1, 0), Pass.BWD_WEIGHT: (2, 0, 1)}
"""A, B and C of each pass as an implicit GEMM, as places among the forward pass's x, w and y."""


class Convolution(Operation):
    """One pass; what the three share they share here."""

    layouts = frozenset(layout for names in INPUT_LAYOUTS.values() for layout in names)
    groups: Mapping[str, str] = {
        "numerics": "bitgate.ops.convolution.numerics:ConvolutionNumerics",
        "space": "bitgate.ops.convolution.space:ConvolutionSpace",
        "diagnostics": "bitgate.ops.convolution.diagnostics:ConvolutionDiagnostics",
    }

    def __init__(self, direction: Pass) -> None:
        self.name = direction.value
        self.matrices = MATRICES[direction]
        self._direction = direction

    def parse(self, text: str, words: list[str]) -> ConvProblem:
        return spelling.parse(self._direction, text, words)

    def spell(self, problem: ConvProblem) -> str:
        return spelling.spell(problem)

    def human(self, problem: ConvProblem) -> str:
        return spelling.human(problem)


OPERATIONS = tuple(map(Convolution, Pass))
