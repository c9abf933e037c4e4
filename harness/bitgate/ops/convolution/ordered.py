"""The order in which naive convolutions sum. From +0: filter taps row-major (z, y, x) outermost, then channels (c of x
for fwd, k of dy for bwd_data); bwd_weight: images outermost, then output positions row-major. Products cut off by the
border are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype
from bitgate.model.form import Array
from bitgate.numerics import native
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.window import window_of


def sums(problem: ConvProblem, arrays: Mapping[str, Array], accumulator: Dtype, threads: int) -> Array:
    """The sums of ``native/ordered.cpp`` of operands in logical order; so is the result."""
    packed = {name: _channels_last(arrays[name], accumulator.numpy) for name in problem.operands}
    g, n, k, c = problem.g, problem.n, problem.k, problem.c
    taps = problem.filter
    shape: tuple[int, ...]
    if problem.direction is Pass.FWD:
        weights = packed["wei"].reshape(g, k, -1, c).transpose(0, 2, 3, 1)  # [g][tap][c][k]
        first, second, shape = packed["in"], weights, (g, n, *problem.output, k)
    elif problem.direction is Pass.BWD_DATA:
        weights = packed["wei"].reshape(g, k, -1, c).transpose(0, 2, 1, 3)  # [g][tap][k][c]
        first, second, shape = packed["out"], weights, (g, n, *problem.input, c)
    else:
        first, second, shape = packed["in"], packed["out"], (g, k, *taps, c)
    found = np.zeros(shape, accumulator.numpy)
    native.ordered(
        (g, n, k, c, *(1,) * (3 - problem.ndim), *problem.input),
        window_of(problem),
        problem.direction.code,
        accumulator,
        np.ascontiguousarray(first),
        np.ascontiguousarray(second),
        found,
        threads,
    )
    return np.moveaxis(found, -1, 2)


def _channels_last(cells: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return np.ascontiguousarray(np.moveaxis(cells, 2, -1).astype(dtype))
