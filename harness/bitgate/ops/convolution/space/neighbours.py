"""Around one convolution: problems one step smaller, how odd it is, and those that differ in one quantity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bitgate.model import ELEMENTWISE, DtypeSet, ProblemError
from bitgate.model.d_form import PLAIN
from bitgate.model.gap import ELEMENT, Gap, fitting
from bitgate.model.space import epilogues
from bitgate.model.space.neighbour import Nearby, distance, near_values
from bitgate.ops.convolution.layout import (
    INPUT_LAYOUTS,
    WEIGHT_LAYOUTS,
    default_layout,
    default_weight_layout,
    input_letters,
    weight_letters,
)
from bitgate.ops.convolution.problem import ConvProblem
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.steps import LEAST, OPERATION_COLUMNS, SCALARS, SPATIAL


def without_axis(problem: ConvProblem, axis: int) -> ConvProblem:
    ndim = problem.ndim
    changes: dict[str, Any] = {
        name: tuple(v for i, v in enumerate(getattr(problem, name)) if i != axis) for name in SPATIAL
    }
    changes["layout"] = INPUT_LAYOUTS[ndim - 1][INPUT_LAYOUTS[ndim].index(problem.layout)]
    changes["wei_layout"] = WEIGHT_LAYOUTS[ndim - 1][WEIGHT_LAYOUTS[ndim].index(problem.wei_layout)]
    letters = {ELEMENT: ELEMENT, **_others(input_letters, ndim, axis), **_others(weight_letters, ndim, axis)}
    gaps = [replace(gap, axis=letters[gap.axis]) for gap in problem.gaps if gap.axis in letters]
    bare = replace(problem, **changes, gaps=(), d_form=PLAIN).with_form(problem.d_form)
    return replace(bare, gaps=fitting(tuple(gaps), bare.gap_orders))


def _others(letters: Callable[[int], str], ndim: int, axis: int) -> dict[str, str]:
    """Return the new names of the axes without one of the spatial ones."""
    kept = letters(ndim)[: 3 + axis] + letters(ndim)[4 + axis :]
    return dict(zip(kept, letters(ndim - 1), strict=True))


def with_axis(problem: ConvProblem) -> ConvProblem:
    """Return the problem with one more axis, of length 1, in front."""
    row = Batch.from_problems([problem])
    return like(problem, row.with_columns(ndim=row.ndim + 1).problem(0))


def like(problem: ConvProblem, shape: ConvProblem) -> ConvProblem:
    """Return the shape with what a row of a batch does not hold: types, the operands' operations, factors, the form of
    D, and separate gaps."""
    held = replace(shape, dtypes=problem.dtypes, in_op=problem.in_op, wei_op=problem.wei_op)
    held = epilogues.held_by(problem, held)
    if not problem.gaps or not shape.gap:
        return held
    return replace(held, gap=problem.gap, gaps=fitting(problem.gaps, held.gap_orders))


def smaller(problem: ConvProblem) -> Iterator[ConvProblem]:
    """Yield one operation or gap less, one of the steps of a batch, one dimension less."""
    plain = ELEMENTWISE["pass"]
    yield from epilogues.plainer(problem)
    for name in OPERATION_COLUMNS:
        if getattr(problem, name) != plain:
            yield _changed(problem, name, plain)
    for gap in problem.gaps:
        yield _without_gap(problem, gap)
    steps = Batch.from_problems([problem]).smaller()
    steps = steps.take(np.flatnonzero(steps.possible))
    for index in range(len(steps)):
        yield like(problem, steps.problem(index))
    for axis in range(problem.ndim if problem.ndim > 1 else 0):
        yield without_axis(problem, axis)


def oddness(problem: ConvProblem) -> tuple[int, int]:
    """Return how much of the problem is not plain, and the sum of its numbers."""
    special = (
        *(getattr(problem, name).name != "pass" for name in OPERATION_COLUMNS),
        problem.gap,
        *(True for _ in problem.gaps),
        problem.split_k != 1,
        problem.layout != default_layout(problem.ndim),
        problem.wei_layout != default_weight_layout(problem.ndim),
    )
    lengths = (problem.g, problem.n, problem.k, problem.c, abs(problem.split_k))
    return sum(special) + epilogues.oddness(problem), sum(lengths) + sum(sum(getattr(problem, name)) for name in LEAST)


def nearby(problem: ConvProblem) -> Iterator[Nearby]:
    """Yield problems that differ in one quantity; values that no problem can have are left out."""
    yield from _possible(_lengths(problem))
    yield from epilogues.nearby(problem)
    yield from _possible(_choices(problem))
    yield from _possible(_axes_and_types(problem))


_Change = tuple[str, object, object, float, Callable[[], ConvProblem]]
"""A quantity, its old and new value, how far apart they are, and the problem with the new one."""


def _possible(changes: Iterable[_Change]) -> Iterator[Nearby]:
    for quantity, old, new, far, make in changes:
        try:
            other = make()
        except ProblemError:
            continue
        yield Nearby(quantity, str(old), str(new), far, other)


def _lengths(problem: ConvProblem) -> Iterator[_Change]:
    for name in SCALARS:
        old = getattr(problem, name)
        for new in near_values(old, 1):
            yield name, old, new, distance(old, new), partial(_changed, problem, name, new)
    for name, least in LEAST.items():
        values = getattr(problem, name)
        for axis, old in enumerate(values):
            for new in near_values(old, least):
                spatial = (*values[:axis], new, *values[axis + 1 :])
                yield f"{name}[{axis}]", old, new, distance(old, new), partial(_changed, problem, name, spatial)


def _choices(problem: ConvProblem) -> Iterator[_Change]:
    for op in ELEMENTWISE.values():
        if op.name != problem.op.name:
            yield "operation", problem.op.name, op.name, 2.0, partial(problem.changed, op=op)
    gap = not problem.gap
    yield "gap", str(problem.gap).lower(), str(gap).lower(), 2.0, partial(replace, problem, gap=gap)
    for own in problem.gaps:
        yield "gap", own, "none", 2.0, partial(_without_gap, problem, own)
    for split_k in (1, 2, 3, -1):
        if split_k != problem.split_k:
            yield "split_k", problem.split_k, split_k, 2.0, partial(replace, problem, split_k=split_k)
    for layout in INPUT_LAYOUTS[problem.ndim]:
        if layout != problem.layout:
            yield "layout", problem.layout, layout, 2.5, partial(problem.changed, layout=layout)
    for name in ("in_op", "wei_op"):
        old_op = getattr(problem, name)
        if old_op.name != "pass":
            yield name, old_op.name, "pass", 1.0, partial(_changed, problem, name, ELEMENTWISE["pass"])


def _axes_and_types(problem: ConvProblem) -> Iterator[_Change]:
    if problem.ndim > 1:
        for axis in range(problem.ndim):
            yield "ndim", problem.ndim, problem.ndim - 1, 3.0, partial(without_axis, problem, axis)
    if problem.ndim < 3:
        yield "ndim", problem.ndim, problem.ndim + 1, 3.0, partial(with_axis, problem)
    for name in ("f32", "f16", "bf16"):
        if name != str(problem.dtypes):
            yield "types", problem.dtypes, name, 4.0, partial(replace, problem, dtypes=DtypeSet.parse(name))


def _changed(problem: ConvProblem, name: str, value: Any) -> ConvProblem:
    return problem.changed(**{name: value})


def _without_gap(problem: ConvProblem, gap: Gap) -> ConvProblem:
    return replace(problem, gaps=tuple(other for other in problem.gaps if other != gap))
