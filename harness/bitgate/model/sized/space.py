"""The problems that a sized operation has: its sizes, its types, and gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from bitgate.model.dtype import TensorTypes
from bitgate.model.sized.problem import SizedProblem
from bitgate.model.sized.schema import CHOICE, FLAG, LENGTH, Size
from bitgate.model.space import ProblemSpace
from bitgate.model.space.details import Cut, Details, gaps, of_quantities, tensors_with_gaps
from bitgate.model.space.problem_property import COMMON, GAP, Property, PropertyKind
from bitgate.model.space.quantity import GAPS, SHARED, Choice, Quantity, quantities_of

if TYPE_CHECKING:
    from bitgate.model.sized.operation import Sized

_KINDS = {LENGTH: PropertyKind.NUMBER, FLAG: PropertyKind.FLAG, CHOICE: PropertyKind.NAME}


class SizedSpace(ProblemSpace):
    """The space that follows from the fields of ``sizes``, as it does elsewhere from those of a problem."""

    operation: Sized

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        singles = [str(types) for types in SHARED["dtypes"].values if "_" not in str(types)]
        types = Choice("dtypes", tuple(map(TensorTypes.parse, singles)))
        return types, *quantities_of(self.operation.schema.type), SHARED["gap"], GAPS

    def values_of(self, problem: SizedProblem) -> dict[str, Any]:
        return {"dtypes": problem.dtypes, **vars(problem.sizes), "gap": problem.gap, "gaps": problem.gaps}

    def problem_of(self, values: Mapping[str, Any]) -> SizedProblem:
        gap = {name: values[name] for name in ("gap", "gaps")}
        sizes = {name: value for name, value in values.items() if name not in ("dtypes", *gap)}
        problem = SizedProblem(self.operation, values["dtypes"], self.operation.schema.type(**sizes), **gap)
        if len(problem.dtypes.names) > 1:
            _ = problem.tensors  # without an optional tensor there may be a type too many: no such problem
        return problem

    def tiled(self, tile: tuple[int, int, int]) -> Mapping[str, int]:
        """Return nothing: an instance names in ``tiles`` which lengths M, N and K are."""
        return {}

    def typed(self, problem: SizedProblem, dtypes: TensorTypes) -> SizedProblem:
        """Return the problem in other types, or itself where the number of types differs: optional tensors may be
        absent.
        """
        return replace(problem, dtypes=dtypes) if len(dtypes.names) in (1, len(problem.untyped)) else problem

    def types(self, text: str) -> TensorTypes:
        return TensorTypes.parse(text)

    def details(self, problem: SizedProblem, cut: Cut) -> Details:
        of_sizes = of_quantities(SimpleNamespace(**self.values_of(problem)), self.quantities, cut)
        return {**of_sizes, **gaps(problem), "gaps": tensors_with_gaps(problem)}

    @cached_property
    def properties(self) -> Mapping[str, Property]:
        own = {size.name: self._property(size) for size in self.operation.schema.sizes}
        return {**COMMON, **own, "gap": GAP}

    def _property(self, size: Size) -> Property:
        plain, name = self.operation.schema.plain, size.name
        return Property(lambda problem: plain(problem.sizes)[name], _KINDS[size.kind], size.words)
