"""The problems that a reduction has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from bitgate.core.table_fields import texts
from bitgate.model import DTYPES, DtypeSet
from bitgate.model.space import ProblemSpace, details
from bitgate.model.space.details import Cut
from bitgate.model.space.problem_property import COMMON, GAP, Property, PropertyKind, attribute
from bitgate.model.space.quantity import GAPS, SHARED, Choice, Length, Quantity
from bitgate.model.space.row import AxisField, ShapePattern
from bitgate.model.space.threshold import COMMON as COMMON_THRESHOLDS
from bitgate.model.space.threshold import Threshold, blocks, remainder
from bitgate.ops.reduction.problem import ELEMENTS, Kind, ReductionProblem, types_of

_KINDS = tuple(kind.value for kind in Kind)
_TYPES = tuple(dict.fromkeys(types_of(DTYPES[name], kind) for name in ELEMENTS for kind in Kind))


class ReductionSpace(ProblemSpace):
    """Lengths, types and kinds; the rest follows."""

    shape = ShapePattern(r"(o\d+)?l\d+(i\d+)?", "o4l1000i3")
    axes = (AxisField("kinds", texts("|".join(_KINDS), f"one of {', '.join(_KINDS)}")),)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        return (
            Length("outer", tile=0),
            Length("length", tile=2),
            Length("inner", tile=1),
            Choice("dtypes", _TYPES),
            Choice("kind", tuple(Kind)),
            SHARED["gap"],
            SHARED["split_k"],
            GAPS,
        )

    @cached_property
    def properties(self) -> Mapping[str, Property]:
        return {
            **COMMON,
            **{name: attribute(name) for name in ("outer", "length", "inner", "split_k")},
            "gap": GAP,
            "kind": Property(lambda problem: problem.kind.value, PropertyKind.NAME, _KINDS),
        }

    def keywords(self, problem: ReductionProblem) -> tuple[str, ...]:
        return (problem.kind.value,)

    def typed(self, problem: ReductionProblem, dtypes: DtypeSet) -> ReductionProblem:
        """Return the problem with another type of x, the only free one; unknown types change nothing."""
        element = dtypes.inp if dtypes.inp.name in ELEMENTS else problem.dtypes.inp
        values = {**self.values_of(problem), "dtypes": types_of(element, problem.kind)}
        typed: ReductionProblem = self.problem_of(values)
        return typed

    def varied(
        self, problem: ReductionProblem, dtypes: Sequence[DtypeSet], rng: np.random.Generator
    ) -> ReductionProblem:
        varied: ReductionProblem = super().varied(problem, dtypes, rng)
        return varied

    def details(self, problem: ReductionProblem, cut: Cut) -> Mapping[str, str]:
        tiles = -(-problem.length // cut.tile[2])
        own = {"steps": details.few_or_parity(tiles), "slices": details.slices(problem.split_k, problem.length)}
        return {**super().details(problem, cut), **own}

    def operands(self, problem: ReductionProblem) -> tuple[str, ...]:
        return ("x",)

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        return (*_THRESHOLDS, *COMMON_THRESHOLDS)


_THRESHOLDS = (
    Threshold("length_tail", "whole tiles", "a ragged tile", 0, remainder(lambda way: int(way.problem.length), 2)),
    Threshold("length", "one tile", "several tiles", 1, blocks(lambda way: int(way.problem.length), 2)),
    Threshold("inner", "contiguous rows", "rows across", 1, lambda way: int(way.problem.inner)),
    Threshold("split_k", "a row in one slice", "a row in several slices", 1, lambda way: way.split_k),
)
