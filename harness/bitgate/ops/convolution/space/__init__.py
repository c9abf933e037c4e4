"""The problems that a convolution has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod

import numpy as np

from bitgate.model import DtypeSet, Operation
from bitgate.model.space import Bend, Domains, ProblemSpace
from bitgate.model.space.column import Column
from bitgate.model.space.details import Cut
from bitgate.model.space.factor import Codes, Factor
from bitgate.model.space.neighbour import Nearby
from bitgate.model.space.problem_property import Property
from bitgate.model.space.threshold import Threshold
from bitgate.model.space.variations import fitted_lengths, with_operand_operation
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.space import rows
from bitgate.ops.convolution.space.batch import Batch

MERGED_SHARE = 0.9
"""Share of problems that are made to fit an instance which merges groups."""


class ConvolutionSpace(ProblemSpace):
    """The problem space of one pass; ``rows`` holds what tables state, all else is loaded when it is asked for."""

    axes = rows.AXES
    shape = rows.SHAPE
    lengths = rows.LENGTHS
    layouts: Mapping[str, int] = rows.LAYOUTS

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation)
        direction = Pass(operation.name)
        self.direction = direction
        self.leads = direction is Pass.BWD_DATA
        self.salt = direction.code

    @property
    def properties(self) -> Mapping[str, Property]:
        return rows.PROPERTIES

    def keywords(self, problem: ConvProblem) -> tuple[str, ...]:
        return rows.keywords(problem)

    def layouts_of(self, problem: ConvProblem) -> str:
        return f"{problem.layout} {problem.wei_layout}"

    def dimensions(self, shape: str) -> int:
        return rows.dimensions(shape)

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        from bitgate.ops.convolution.space.factors import FACTORS

        return FACTORS[self.direction]

    @property
    def columns(self) -> Mapping[str, Column]:
        from bitgate.ops.convolution.space.tables import COLUMNS

        return COLUMNS

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        from bitgate.ops.convolution.space.thresholds import THRESHOLDS

        return THRESHOLDS

    def batch(self, problems: Sequence[ConvProblem]) -> Batch:
        return Batch.from_problems(problems)

    def domains(
        self, counted: frozenset[str], assumed: Mapping[str, tuple[str, ...]], rows: Sequence[ConvProblem]
    ) -> Domains:
        from bitgate.ops.convolution.space.tables import domains

        return domains(self.direction, counted, assumed, rows)

    def witnesses(self, domains: Domains) -> Batch:
        from bitgate.ops.convolution.space.draws import witnesses

        return witnesses(self.direction, domains)

    def everyday(self, domains: Domains) -> Batch:
        from bitgate.ops.convolution.space.field import field

        return field(self.direction, domains)

    def candidates(self, seed: Sequence[int], size: int, layouts: Sequence[str], distribution: str) -> Batch:
        from bitgate.ops.convolution.space.draws import candidates

        return candidates(self.direction, seed, size, layouts, distribution)

    def finer(self, batch: Batch) -> Codes:
        from bitgate.ops.convolution.space.draws import axis_classes

        return axis_classes(batch)

    def varied(self, problem: ConvProblem, dtypes: Sequence[DtypeSet], rng: np.random.Generator) -> ConvProblem:
        from bitgate.model.space.epilogues import with_epilogue

        drawn = with_operand_operation(super().varied(problem, dtypes, rng), rng)
        varied: ConvProblem = with_epilogue(drawn)
        return varied

    def details(self, problem: ConvProblem, cut: Cut) -> Mapping[str, str]:
        from bitgate.ops.convolution.space.details import details_of

        return details_of(problem, cut)

    def fitted(self, problem: ConvProblem, cut: Cut, rng: np.random.Generator) -> ConvProblem:
        places = {
            Pass.FWD: {"n": 0, "k": 1, "c": 2},
            Pass.BWD_DATA: {"n": 0, "c": 1, "k": 2},
            Pass.BWD_WEIGHT: {"k": 0, "c": 1, "n": 2},
        }[self.direction]
        lengths = fitted_lengths(problem, cut, places, rng)
        if cut.merge > 1 and rng.random() < MERGED_SHARE:  # groups of one channel each way make one product
            lengths |= {"k": 1, "c": 1, "g": -(-problem.g // cut.merge) * cut.merge}
        if "n" in lengths:  # images times positions are what a tile cuts
            lengths["n"] = max(1, lengths["n"] // prod(problem.output))
        return problem.changed(**lengths)

    def lengths_of(self, problem: ConvProblem) -> dict[str, int]:
        own = {name: getattr(problem, name) for name in ("g", "n", "k", "c")}
        spatial = {f"{name}{axis}": n for name in ("filter", "input") for axis, n in enumerate(getattr(problem, name))}
        return own | spatial

    def with_lengths(self, problem: ConvProblem, stated: Mapping[str, int]) -> ConvProblem:
        found = self.lengths_of(problem) | dict(stated)
        spatial = {name: tuple(found.pop(f"{name}{a}") for a in range(problem.ndim)) for name in ("filter", "input")}
        return problem.changed(**found, **spatial)

    def operands(self, problem: ConvProblem) -> tuple[str, ...]:
        return problem.operands

    def bends(self, layouts: Sequence[str]) -> tuple[Bend, ...]:
        from bitgate.ops.convolution.space.draws import BENDS

        return BENDS

    def smaller(self, problem: ConvProblem) -> Iterator[ConvProblem]:
        from bitgate.ops.convolution.space.neighbours import smaller

        return smaller(problem)

    def oddness(self, problem: ConvProblem) -> tuple[int, int]:
        from bitgate.ops.convolution.space.neighbours import oddness

        return oddness(problem)

    def nearby(self, problem: ConvProblem) -> Iterator[Nearby]:
        from bitgate.ops.convolution.space.neighbours import nearby

        return nearby(problem)
