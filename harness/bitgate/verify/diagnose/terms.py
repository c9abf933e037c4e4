"""The products that one result cell sums, so that a rule can ask which of them a wrong cell is missing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bitgate.exact.rounding import rounded
from bitgate.operations.convolution import ConvProblem, Pass
from bitgate.verify.compare import Array, bits_of
from bitgate.verify.diagnose.scene import along

Floats = NDArray[np.float64]


def terms(problem: ConvProblem, inputs: Mapping[str, Array], cell: tuple[int, ...]) -> Floats:
    """Products of a cell in f64: (reduction channel, taps...) for fwd and bwd_data, (image, output cells...) for
    bwd_weight; 0 where a tap falls outside."""
    return _TERMS[problem.direction](problem, inputs, cell)


def finish(problem: ConvProblem, inputs: Mapping[str, Array], cell: tuple[int, ...], sums: Floats) -> Array:
    """Sums of products -> bits of the result tensor's type, through the problem's element-wise operation.

    Exact as long as the sums are: there is one rounding, the last.
    """
    op = problem.op
    d0 = float(inputs["d0"][cell]) if op.num_d else 0.0
    values = {
        "pass": lambda v: v,
        "scale": lambda v: op.alpha * v,
        "bias": lambda v: v + d0,
        "nd1": lambda v: v + d0,
        "bilinear": lambda v: op.alpha * v + op.beta * d0,
        "inplace": lambda v: op.alpha * v + op.beta * d0,
        "relu": lambda v: np.maximum(v, 0.0),
    }[op.name](sums)
    return bits_of(rounded(np.asarray(values), problem.tensors[problem.result].dtype))


def _fwd(problem: ConvProblem, inputs: Mapping[str, Array], cell: tuple[int, ...]) -> Floats:
    g, n, k, *o = cell
    positions, valid = [], []
    for axis, at in enumerate(o):
        taps = np.arange(problem.filter[axis]) * problem.dilation[axis]
        i = at * problem.stride[axis] + taps - problem.left_pad[axis]
        inside = (i >= 0) & (i < problem.input[axis])
        positions.append(np.where(inside, i, 0))
        valid.append(inside)
    x = inputs["in"][g, n][np.ix_(np.arange(problem.c), *positions)]
    return _product(x, inputs["wei"][g, k], valid)


def _bwd_data(problem: ConvProblem, inputs: Mapping[str, Array], cell: tuple[int, ...]) -> Floats:
    g, n, c, *x = cell
    positions, valid = [], []
    for axis, at in enumerate(x):
        numerator = at + problem.left_pad[axis] - np.arange(problem.filter[axis]) * problem.dilation[axis]
        o = numerator // problem.stride[axis]
        inside = (numerator % problem.stride[axis] == 0) & (o >= 0) & (o < problem.output[axis])
        positions.append(np.where(inside, o, 0))
        valid.append(inside)
    dy = inputs["out"][g, n][np.ix_(np.arange(problem.k), *positions)]
    return _product(dy, inputs["wei"][g, :, c], valid)


def _bwd_weight(problem: ConvProblem, inputs: Mapping[str, Array], cell: tuple[int, ...]) -> Floats:
    g, k, c, *f = cell
    positions, valid = [], []
    for axis, tap in enumerate(f):
        windows = np.arange(problem.output[axis]) * problem.stride[axis]
        i = windows + tap * problem.dilation[axis] - problem.left_pad[axis]
        inside = (i >= 0) & (i < problem.input[axis])
        positions.append(np.where(inside, i, 0))
        valid.append(inside)
    x = inputs["in"][g, :, c][np.ix_(np.arange(problem.n), *positions)]
    return _product(x, inputs["out"][g, :, k], valid)


def _product(first: Array, second: Array, valid: list[NDArray[np.bool_]]) -> Floats:
    product = first.astype(np.float64) * second.astype(np.float64)
    for axis, inside in enumerate(valid):
        product = np.where(along(inside, axis, len(valid)), product, 0.0)
    return np.asarray(product)


_TERMS = {Pass.FWD: _fwd, Pass.BWD_DATA: _bwd_data, Pass.BWD_WEIGHT: _bwd_weight}
