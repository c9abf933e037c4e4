"""The three passes of a grouped convolution as operations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from bitgate.operation import Operation
from bitgate.operation.exactness import Exactness
from bitgate.operation.foreign.program import Driver, Program
from bitgate.operation.insight import Insight
from bitgate.operation.space import Space
from bitgate.operations.convolution import spelling
from bitgate.operations.convolution.foreign import DRIVERS, PROGRAMS, ck_profiler_line
from bitgate.operations.convolution.problem import ConvProblem, Pass


class Convolution(Operation):
    """One pass; what the three share they share here."""

    programs: Mapping[str, Program] = PROGRAMS
    drivers: Mapping[str, Driver] = DRIVERS

    def __init__(self, direction: Pass) -> None:
        self.name = direction.value
        self._direction = direction

    def parse(self, text: str, words: list[str]) -> ConvProblem:
        return spelling.parse(self._direction, text, words)

    def spell(self, problem: ConvProblem) -> str:
        return spelling.spell(problem)

    def human(self, problem: ConvProblem) -> str:
        return spelling.human(problem)

    def foreign_line(self, problem: ConvProblem) -> str | None:
        return ck_profiler_line(problem)

    @cached_property
    def exactness(self) -> Exactness:
        from bitgate.operations.convolution.exactness import ConvolutionExactness

        return ConvolutionExactness()

    @cached_property
    def space(self) -> Space:
        from bitgate.operations.convolution.space import ConvolutionSpace

        return ConvolutionSpace(self, self._direction)

    @cached_property
    def insight(self) -> Insight:
        from bitgate.operations.convolution.insight import ConvolutionInsight

        return ConvolutionInsight()


OPERATIONS = tuple(map(Convolution, Pass))
