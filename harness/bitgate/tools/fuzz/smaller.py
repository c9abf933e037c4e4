"""Smaller cases than a given one: what a shrink tries, and what 'smaller' means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from bitgate.verify.planned import PlannedCase


@dataclass(frozen=True, order=True)
class Smallness:
    """How small a case is: multiply-adds first; then how much of it is not plain; then its numbers."""

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
    """What differs, so that the same step can be told again from another case."""
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
    """Cases one step smaller, the smallest first."""
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
