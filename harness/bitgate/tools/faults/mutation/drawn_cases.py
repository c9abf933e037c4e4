"""Cases of a family that no suite holds: they show what a mutant changes, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import KernelFamily
from bitgate.model import operation_called
from bitgate.model.facts import Facts, numbers_of
from bitgate.tools.faults.mutation.trial import MeasuredCase
from bitgate.tools.tiers.cost import CostModel
from bitgate.tools.tiers.pool import CandidatePool, PoolCase
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseRequest

MOST_SECONDS = 0.05
SALT = 7919
"""Added to the seed: the solved lists are made of draws of small seeds."""


class _Factors(CandidatePool):
    """The factors of a family's problems of one operation."""

    def facts(self, planned: Sequence[PlannedCase]) -> list[Facts]:
        """Return classes and numbers of each case."""
        cases = [PoolCase(one.problem, one.kernel, one.fill, 0.0, {}, one.refused) for one in planned]
        return [
            {**_named(numbers_of(self.space, case.problem)), **case.classes}
            for case in (self._classified(cases) if cases else ())
        ]


def _named(numbers: dict[str, int]) -> dict[str, int]:
    """Return the numbers of a problem by names that no class has."""
    return {f"problem.{name}": value for name, value in numbers.items()}


class DrawnCases:
    """About ``count`` drawn cases of one family; none of operations whose problems are not to be varied."""

    def __init__(self, family: KernelFamily, target: str, count: int, seed: int) -> None:
        self._target, self._count = target, count
        operations = [name for name in family.operations if operation_called(name).space.factors]
        self._factors = {name: _Factors(family, name, CostModel(), MOST_SECONDS) for name in operations}
        self.questions = [CaseRequest(planned) for planned in self._planned(seed)]

    def _planned(self, seed: int) -> Iterator[PlannedCase]:
        for factors in self._factors.values():
            try:
                cases = factors.cases(self._count // len(self._factors), SALT + seed)
            except UsageError:
                continue  # none of the drawn problems fits an instance
            for case in cases:
                yield PlannedCase(
                    case.problem, case.kernel, fill=case.fill, target=self._target, refused=case.refused, repeated=False
                )

    def with_facts(self, cases: Iterable[MeasuredCase]) -> list[MeasuredCase]:
        """Return the cases with the facts that conditions are about; none for an operation without factors."""
        found, facts = list(cases), dict[int, Facts]()
        for name, factors in self._factors.items():
            own = [case for case in found if case.question.planned.problem.operation.name == name]
            of_each = factors.facts([case.question.planned for case in own])
            facts |= {id(case): one for case, one in zip(own, of_each, strict=True)}
        return [replace(case, facts=facts.get(id(case), {})) for case in found]
