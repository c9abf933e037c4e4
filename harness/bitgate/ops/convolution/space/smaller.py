"""Around one convolution: problems one step smaller, how odd it is, and those that differ in one quantity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.model import ELEMENTWISE, DtypeSet, ProblemError
from bitgate.model.gap import Gap
from bitgate.model.space.neighbour import Nearby, distance, near_values
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, default_layout, default_weight_layout
from bitgate.ops.convolution.problem import ConvProblem
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.steps.dimension import like, with_axis, without_axis
from bitgate.ops.convolution.space.steps.length import LEAST

_ELEMENTWISE = ("op", "in_op", "wei_op")
_SCALARS = ("g", "n", "k", "c")


def smaller(problem: ConvProblem) -> Iterator[ConvProblem]:
    """One operation or gap less, one of the steps of a batch, one dimension less."""
    plain = ELEMENTWISE["pass"]
    for name in _ELEMENTWISE:
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
    """How much of it is not plain; the sum of its numbers."""
    special = (
        *(getattr(problem, name).name != "pass" for name in _ELEMENTWISE),
        problem.gap,
        *(True for _ in problem.gaps),
        problem.split_k != 1,
        problem.layout != default_layout(problem.ndim),
        problem.wei_layout != default_weight_layout(problem.ndim),
    )
    lengths = (problem.g, problem.n, problem.k, problem.c, abs(problem.split_k))
    return sum(special), sum(lengths) + sum(sum(getattr(problem, name)) for name in LEAST)


def nearby(problem: ConvProblem) -> Iterator[Nearby]:
    """Quantity by quantity."""
    yield from _lengths(problem)
    yield from _choices(problem)
    if problem.ndim > 1:
        for axis in range(problem.ndim):
            yield Nearby("ndim", str(problem.ndim), str(problem.ndim - 1), 3.0, without_axis(problem, axis))
    if problem.ndim < 3:
        yield Nearby("ndim", str(problem.ndim), str(problem.ndim + 1), 3.0, with_axis(problem))
    for name in ("f32", "f16", "bf16"):
        if name != str(problem.dtypes):
            yield Nearby("types", str(problem.dtypes), name, 4.0, replace(problem, dtypes=DtypeSet.parse(name)))


def _lengths(problem: ConvProblem) -> Iterator[Nearby]:
    for name in _SCALARS:
        old = getattr(problem, name)
        for new in near_values(old, 1):
            yield Nearby(name, str(old), str(new), distance(old, new), _changed(problem, name, new))
    for name, least in LEAST.items():
        values = getattr(problem, name)
        for axis, old in enumerate(values):
            for new in near_values(old, least):
                spatial = (*values[:axis], new, *values[axis + 1 :])
                try:
                    other = _changed(problem, name, spatial)
                except ProblemError:
                    continue
                yield Nearby(f"{name}[{axis}]", str(old), str(new), distance(old, new), other)


def _choices(problem: ConvProblem) -> Iterator[Nearby]:
    for op in ELEMENTWISE.values():
        if op != problem.op:
            yield Nearby("operation", problem.op.name, op.name, 2.0, problem.changed(op=op))
    gap = not problem.gap
    yield Nearby("gap", str(problem.gap).lower(), str(gap).lower(), 2.0, replace(problem, gap=gap))
    for own in problem.gaps:
        yield Nearby("gap", str(own), "none", 2.0, _without_gap(problem, own))
    for split_k in (1, 2, 3, -1):
        if split_k != problem.split_k:
            yield Nearby("split_k", str(problem.split_k), str(split_k), 2.0, replace(problem, split_k=split_k))
    for layout in INPUT_LAYOUTS[problem.ndim]:
        if layout != problem.layout:
            yield Nearby("layout", problem.layout, layout, 2.5, problem.changed(layout=layout))
    for name in ("in_op", "wei_op"):
        old_op = getattr(problem, name)
        if old_op.name != "pass":
            yield Nearby(name, old_op.name, "pass", 1.0, _changed(problem, name, ELEMENTWISE["pass"]))


def _changed(problem: ConvProblem, name: str, value: Any) -> ConvProblem:
    return problem.changed(**{name: value})


def _without_gap(problem: ConvProblem, gap: Gap) -> ConvProblem:
    return replace(problem, gaps=tuple(other for other in problem.gaps if other != gap))
