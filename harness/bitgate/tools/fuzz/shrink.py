"""Reduction of a failing case to the smallest one that fails alike, and the search for its nearest passing
neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from time import perf_counter
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.kernel.declared import harness_refusal
from bitgate.model import Problem
from bitgate.model.descent import descend
from bitgate.results.record import Outcome, Verdict
from bitgate.tools.fuzz.failure import FuzzFailure, Neighbour, ShrunkFailure, is_failure, signature
from bitgate.verify.planned import PlannedCase

Judge = Callable[[PlannedCase], Verdict]

MANY_NEIGHBOURS = 400_000_000
"""Operations beyond which a neighbour is too expensive to try."""


class Shrinker:
    """One shrink: each case is judged once at most, until ``seconds`` are up."""

    def __init__(self, judge: Judge, found: FuzzFailure, seconds: float = 60.0) -> None:
        self._judge = judge
        self._found = found
        self._wanted = signature(found.verdict)[0], signature(found.verdict)[1] == "support"
        self._begin = perf_counter()
        self._end = self._begin + seconds
        self._known: dict[PlannedCase, Verdict | None] = {}
        self.tried = 0

    def run(self) -> ShrunkFailure:
        found = descend(
            self._found.planned,
            smaller,
            self._fails_alike,
            change=change,
            is_over=lambda: perf_counter() >= self._end,
        )
        verdict = self._known.get(found.best) or self._found.verdict
        neighbours = tuple(sorted(self._neighbours(found.best), key=lambda neighbour: neighbour.distance))
        seconds = perf_counter() - self._begin
        return ShrunkFailure(self._found, found.best, verdict, neighbours, found.minimal, self.tried, seconds)

    def _fails_alike(self, candidate: PlannedCase) -> bool:
        verdict = self._verdict(candidate)
        return verdict is not None and is_failure(verdict) and self._alike(verdict)

    def _alike(self, verdict: Verdict) -> bool:
        """Say whether a verdict fails alike: the kind of diagnosis may change, outcome or disagreement may not."""
        outcome, kind = signature(verdict)
        return (outcome, kind == "support") == self._wanted

    def _verdict(self, planned: PlannedCase) -> Verdict | None:
        """Return the verdict of a case, None if the kernel rightly refuses the problem."""
        if planned not in self._known:
            self._known[planned] = self._ask(planned)
        return self._known[planned]

    def _ask(self, planned: PlannedCase) -> Verdict | None:
        kernel = planned.kernel
        if planned.problem.dtypes.canonical not in kernel.instance.dtypes:
            return None
        if harness_refusal(kernel.family, kernel.instance, planned.problem) is not None:
            return None
        refusal = kernel.refusal(planned.problem)
        if refusal is not None and not self._wanted[1]:
            return None
        refused = "" if refusal is None else refusal.clause
        self.tried += 1
        try:
            return self._judge(replace(planned, refused=refused))
        except UsageError:
            return None  # there is no reference for these types or data

    def _neighbours(self, planned: PlannedCase) -> Iterator[Neighbour]:
        """Yield for each quantity its nearest value that passes, if there is one."""
        until = max(self._end, perf_counter() + 0.2 * (self._end - self._begin))
        done: set[str] = set()
        nearby = planned.problem.operation.space.nearby(planned.problem)
        for near in sorted(nearby, key=lambda near: near.distance):
            quantity, problem = near.quantity, near.problem
            if quantity in done or problem.flops > MANY_NEIGHBOURS or perf_counter() >= until:
                continue
            for other in self._instances(planned, problem):
                verdict = self._verdict(other)
                if verdict is None:
                    continue
                if verdict.outcome is Outcome.PASS or (self._wanted[1] and verdict.green):
                    done.add(quantity)
                    yield Neighbour(quantity, near.old, near.new, near.distance, other)
                break

    def _instances(self, planned: PlannedCase, problem: Problem) -> Iterator[PlannedCase]:
        """Yield the case on the same instance; for other types on the instances that take them."""
        if problem.dtypes == planned.problem.dtypes:
            yield replace(planned, problem=problem)
            return
        for instance in planned.kernel.family.instances:
            yield replace(planned, problem=problem, kernel=replace(planned.kernel, instance=instance))


@dataclass(frozen=True, order=True)
class Smallness:
    """The size of a case: multiply-adds first, then the number of its special features, then its numbers."""

    multiply_adds: int
    special: int
    numbers: int
    vector: int


def measure(planned: PlannedCase) -> Smallness:
    problem = planned.problem
    odd, numbers = problem.operation.space.oddness(problem)
    special = (
        planned.fill != "exact",
        planned.seed != 0,
        planned.schedule != "forward",
        *(True for _ in planned.kernel.options),
    )
    instance = planned.kernel.instance
    vector = sum(instance.vector or ()) + instance.block_size
    return Smallness(problem.flops // 2, odd + sum(special), numbers, vector)


Change = frozenset[tuple[str, int, object]]
"""Fields, or axes of them, and the values they get."""


def change(before: PlannedCase, after: PlannedCase) -> Change:
    """Return the difference between two cases, so that the same step can be recognized from another case."""
    return frozenset({*_parts_of(after)} - {*_parts_of(before)})


def _parts_of(planned: PlannedCase) -> Iterator[tuple[str, int, object]]:
    yield from _parts(planned)
    yield from _parts(planned.problem)
    _, instance, options = planned.kernel.names
    yield "instance", 0, instance
    yield from (("options", axis, pair) for axis, pair in enumerate(options, 1 - len(options)))


def _parts(thing: Any) -> Iterator[tuple[str, int, object]]:
    for field in fields(thing):
        value = getattr(thing, field.name)
        if field.name not in ("problem", "kernel"):
            values = value if isinstance(value, tuple) else (value,)
            yield from ((field.name, axis, part) for axis, part in enumerate(values, 1 - len(values)))


def smaller(planned: PlannedCase) -> list[PlannedCase]:
    """Return the cases one step smaller, the smallest first."""
    here = measure(planned)
    found: dict[PlannedCase, Smallness] = {}
    for candidate in _steps(planned):
        size = measure(candidate)
        if size < here:
            found[candidate] = size
    return sorted(found, key=lambda candidate: found[candidate])


def _steps(planned: PlannedCase) -> Iterator[PlannedCase]:
    problem = planned.problem
    for shape in problem.operation.space.smaller(problem):
        yield replace(planned, problem=shape)
    kernel = planned.kernel
    for instance in kernel.family.instances:
        if problem.dtypes.canonical in instance.dtypes and instance.name != kernel.instance.name:
            yield replace(planned, kernel=replace(kernel, instance=instance))
    for index in range(len(kernel.options)):
        left = kernel.options[:index] + kernel.options[index + 1 :]
        yield replace(planned, kernel=replace(kernel, options=left))
    plain: tuple[dict[str, Any], ...] = (
        {"fill": "exact"},
        {"seed": 0},
        {"schedule": "forward"},
        {"fill": "exact", "seed": 0, "schedule": "forward", "kernel": replace(kernel, options=())},
    )
    for change in plain:
        yield replace(planned, **change)
