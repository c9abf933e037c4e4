"""Smaller cases than a given one: what a shrink tries, and what 'smaller' means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from bitgate.kernel.declaration import KernelFamily
from bitgate.verify.planned import PlannedCase


@dataclass(frozen=True, order=True)
class Measure:
    """How small a case is: multiply-adds first; then how much of it is not plain; then its numbers."""

    multiply_adds: int
    special: int
    numbers: int
    vector: int


def measure(planned: PlannedCase, family: KernelFamily) -> Measure:
    problem = planned.problem
    odd, numbers = problem.operation.space.oddness(problem)
    special = (
        planned.fill != "exact",
        planned.seed != 0,
        planned.schedule != "forward",
        *(True for _ in planned.options),
    )
    instance = family.instance(planned.instance)
    vector = sum(instance.vector or ()) + instance.block_size if instance else 0
    return Measure(problem.flops // 2, odd + sum(special), numbers, vector)


Change = frozenset[tuple[str, int, object]]
"""Fields, or axes of them, and the values they get."""


def change(before: PlannedCase, after: PlannedCase) -> Change:
    """What differs, so that the same step can be told again from another case."""
    return frozenset({*_parts(after), *_parts(after.problem)} - {*_parts(before), *_parts(before.problem)})


def _parts(thing: Any) -> Iterator[tuple[str, int, object]]:
    for field in fields(thing):
        value = getattr(thing, field.name)
        if field.name != "problem":
            values = value if isinstance(value, tuple) else (value,)
            yield from ((field.name, axis, part) for axis, part in enumerate(values, 1 - len(values)))


def smaller(planned: PlannedCase, family: KernelFamily) -> list[PlannedCase]:
    """Cases one step smaller, the smallest first."""
    here = measure(planned, family)
    found: dict[PlannedCase, Measure] = {}
    for candidate in _steps(planned, family):
        size = measure(candidate, family)
        if size < here:
            found[candidate] = size
    return sorted(found, key=lambda candidate: found[candidate])


def _steps(planned: PlannedCase, family: KernelFamily) -> Iterator[PlannedCase]:
    problem = planned.problem
    for shape in problem.operation.space.smaller(problem):
        yield replace(planned, problem=shape)
    for instance in family.instances:
        if problem.dtypes.canonical in instance.dtypes and instance.name != planned.instance:
            yield replace(planned, instance=instance.name)
    for index in range(len(planned.options)):
        yield replace(planned, options=planned.options[:index] + planned.options[index + 1 :])
    plain: tuple[dict[str, Any], ...] = (
        {"fill": "exact"},
        {"seed": 0},
        {"schedule": "forward"},
        {"fill": "exact", "seed": 0, "schedule": "forward", "options": ()},
    )
    for change in plain:
        yield replace(planned, **change)
