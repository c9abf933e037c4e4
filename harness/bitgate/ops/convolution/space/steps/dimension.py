"""A problem with one spatial dimension less, or more, in layouts of the same kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bitgate.model.gap import fitting
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS, input_letters, weight_letters
from bitgate.ops.convolution.problem import ConvProblem
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.steps.step import SPATIAL


def without_axis(problem: ConvProblem, axis: int) -> ConvProblem:
    ndim = problem.ndim
    changes: dict[str, Any] = {
        name: tuple(v for i, v in enumerate(getattr(problem, name)) if i != axis) for name in SPATIAL
    }
    changes["layout"] = INPUT_LAYOUTS[ndim - 1][INPUT_LAYOUTS[ndim].index(problem.layout)]
    changes["wei_layout"] = WEIGHT_LAYOUTS[ndim - 1][WEIGHT_LAYOUTS[ndim].index(problem.wei_layout)]
    letters = {**_others(input_letters, ndim, axis), **_others(weight_letters, ndim, axis)}
    gaps = [replace(gap, axis=letters[gap.axis]) for gap in problem.gaps if gap.axis in letters]
    return replace(problem, **changes, gaps=tuple(gaps))


def _others(letters: Callable[[int], str], ndim: int, axis: int) -> dict[str, str]:
    """What the axes are called without one of the spatial ones."""
    kept = letters(ndim)[: 3 + axis] + letters(ndim)[4 + axis :]
    return dict(zip(kept, letters(ndim - 1), strict=True))


def with_axis(problem: ConvProblem) -> ConvProblem:
    """One more of length 1 in front."""
    row = Batch.from_problems([problem])
    return like(problem, row.with_columns(ndim=row.ndim + 1).problem(0))


def like(problem: ConvProblem, shape: ConvProblem) -> ConvProblem:
    """The shape with what a row of a batch does not hold: types, the operations of the operands, and which gaps."""
    held = replace(shape, dtypes=problem.dtypes, in_op=problem.in_op, wei_op=problem.wei_op)
    if not problem.gaps or not shape.gap:
        return held
    return replace(held, gap=problem.gap, gaps=fitting(problem.gaps, held.gap_orders))
