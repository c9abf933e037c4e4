"""Smaller cases than a given one: what a shrink tries, and what 'smaller' means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bitgate.coverage.batch import Batch
from bitgate.coverage.solve import one_step_smaller
from bitgate.kernel.declaration import KernelFamily
from bitgate.problem import ConvProblem
from bitgate.problem.conv import default_layout, default_weight_layout
from bitgate.problem.elementwise import OPERATIONS
from bitgate.problem.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS
from bitgate.verify.planned import PlannedCase

_SPATIAL = ("filter", "input", "stride", "dilation", "left_pad", "right_pad")


@dataclass(frozen=True, order=True)
class Measure:
    """How small a case is: multiply-adds G N K C prod(O) prod(F) first; then how much of it is not plain; then its
    numbers."""

    multiply_adds: int
    special: int
    numbers: int
    vector: int


def measure(planned: PlannedCase, family: KernelFamily) -> Measure:
    problem = planned.problem
    special = (
        problem.op.name != "pass",
        problem.gap,
        problem.split_k != 1,
        problem.layout != default_layout(problem.ndim),
        problem.wei_layout != default_weight_layout(problem.ndim),
        planned.fill != "exact",
        planned.seed != 0,
        planned.schedule != "forward",
        *(True for _ in planned.options),
    )
    lengths = (problem.g, problem.n, problem.k, problem.c, abs(problem.split_k))
    numbers = sum(lengths) + sum(sum(getattr(problem, name)) for name in _SPATIAL)
    instance = family.instance(planned.instance)
    vector = sum(instance.vector or ()) + instance.block_size if instance else 0
    return Measure(problem.flops // 2, sum(special), numbers, vector)


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
    for shape in _shapes(problem):
        yield replace(planned, problem=shape)
    for instance in family.instances:
        if str(problem.dtypes) in instance.dtypes and instance.name != planned.instance:
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


def _shapes(problem: ConvProblem) -> Iterator[ConvProblem]:
    row = Batch.from_problems([problem])
    steps = one_step_smaller(row)
    steps = steps.take(np.flatnonzero(steps.possible))
    for index in range(len(steps)):
        yield replace(steps.problem(index), dtypes=problem.dtypes)
    for axis in range(problem.ndim if problem.ndim > 1 else 0):
        yield without_axis(problem, axis)
    if problem.op.name != "pass":
        yield replace(problem, op=OPERATIONS["pass"])


def without_axis(problem: ConvProblem, axis: int) -> ConvProblem:
    """The problem with one spatial dimension less, in the layout of the same kind."""
    ndim = problem.ndim
    changes: dict[str, Any] = {
        name: tuple(v for i, v in enumerate(getattr(problem, name)) if i != axis) for name in _SPATIAL
    }
    changes["layout"] = INPUT_LAYOUTS[ndim - 1][INPUT_LAYOUTS[ndim].index(problem.layout)]
    changes["wei_layout"] = WEIGHT_LAYOUTS[ndim - 1][WEIGHT_LAYOUTS[ndim].index(problem.wei_layout)]
    return replace(problem, **changes)
