"""Smaller cases than a given one: what a shrink tries, and what 'smaller' means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from bitgate.coverage.batch import Batch
from bitgate.coverage.solve import one_step_smaller
from bitgate.kernel.declaration import KernelFamily
from bitgate.operation import ELEMENTWISE
from bitgate.operation.contraction import Contraction
from bitgate.operations.convolution import ConvProblem, default_layout, default_weight_layout
from bitgate.operations.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS
from bitgate.operations.gemm import GemmProblem
from bitgate.verify.planned import PlannedCase

P = TypeVar("P", bound=Contraction)

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
        *(op.name != "pass" for op in (problem.op, problem.in_op, problem.wei_op)),
        problem.gap,
        problem.split_k != 1,
        problem.ndim > 0 and problem.layout != default_layout(problem.ndim),
        problem.ndim > 0 and problem.wei_layout != default_weight_layout(problem.ndim),
        planned.fill != "exact",
        planned.seed != 0,
        planned.schedule != "forward",
        *(True for _ in planned.options),
    )
    is_gemm = isinstance(problem, GemmProblem)
    sizes = (problem.batch, *problem.sizes) if is_gemm else (problem.g, problem.n, problem.k, problem.c)
    lengths = (*sizes, abs(problem.split_k))
    numbers = sum(lengths) + sum(sum(getattr(problem, name)) for name in _SPATIAL)
    instance = family.instance(planned.instance)
    vector = sum(instance.vector or ()) + instance.block_size if instance else 0
    return Measure(problem.flops // 2, sum(special), numbers, vector)


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
    for shape in _shapes(problem):
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


def _shapes(problem: ConvProblem | GemmProblem) -> Iterator[ConvProblem | GemmProblem]:
    pass_ = ELEMENTWISE["pass"]
    for name in ("op", "in_op", "wei_op"):
        if getattr(problem, name) != pass_:
            yield changed(problem, name, pass_)
    if isinstance(problem, GemmProblem):
        yield from _gemms(problem)
        return
    row = Batch.from_problems([problem])
    steps = one_step_smaller(row)
    steps = steps.take(np.flatnonzero(steps.possible))
    for index in range(len(steps)):
        yield like(problem, steps.problem(index))
    for axis in range(problem.ndim if problem.ndim > 1 else 0):
        yield without_axis(problem, axis)


def _gemms(problem: GemmProblem) -> Iterator[GemmProblem]:
    for name in ("batch", "m", "n", "k"):
        value = getattr(problem, name)
        for new in {1, 2, value // 2, value - value % 8, value - 8, value - 1}:
            if 1 <= new < value:
                yield changed(problem, name, new)
    if problem.gap:
        yield changed(problem, "gap", False)
    if problem.split_k != 1:
        yield changed(problem, "split_k", 1)


def like(problem: ConvProblem, shape: ConvProblem) -> ConvProblem:
    """The shape with what a row of a batch does not hold: types, and the operations of the operands."""
    return replace(shape, dtypes=problem.dtypes, in_op=problem.in_op, wei_op=problem.wei_op)


def changed(problem: P, name: str, value: Any) -> P:
    changes = {name: value}
    return replace(problem, **changes)


def without_axis(problem: ConvProblem, axis: int) -> ConvProblem:
    """The problem with one spatial dimension less, in the layout of the same kind."""
    ndim = problem.ndim
    changes: dict[str, Any] = {
        name: tuple(v for i, v in enumerate(getattr(problem, name)) if i != axis) for name in _SPATIAL
    }
    changes["layout"] = INPUT_LAYOUTS[ndim - 1][INPUT_LAYOUTS[ndim].index(problem.layout)]
    changes["wei_layout"] = WEIGHT_LAYOUTS[ndim - 1][WEIGHT_LAYOUTS[ndim].index(problem.wei_layout)]
    return replace(problem, **changes)
