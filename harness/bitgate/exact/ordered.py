"""The ordered reference: each cell's sum in a stated order with explicit fma, so that it equals the naive kernels bit
for bit on any finite data.

Operands are first what they are multiplied as (factors.py). Order, from +0: filter taps row-major (z, y, x) outermost,
then channels (c of x for fwd, k of dy for bwd_data); bwd_weight: images outermost, then output positions row-major.
acc = fma(a, b, acc) in the accumulator's type: f64 if any tensor is f64, i32 (wrapping) if both operands are integers,
else f32. Products cut off by the border are left out.

Then the operation, in the accumulator's type, in f64 where that is i32: scale v = alpha * v; bias and nd1 v = v + d;
bilinear v = alpha * v, then v = fma(beta, d, v); relu v = 0 if v < 0 else v, so that NaN and -0 stay. Then one rounding
to nearest even (rounding.py).

Nothing here is shared with the exact reference but the numbers: packing and rounding are numpy's, the sums are
native/ordered.cpp's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate import rooms
from bitgate.exact import native
from bitgate.exact.factors import factors
from bitgate.exact.native import WindowView
from bitgate.exact.rounding import rounded
from bitgate.exact.tensor import HostTensor
from bitgate.operation import DTYPES, Dtype
from bitgate.operations.convolution import ConvProblem, Pass


def accumulator_of(problem: ConvProblem) -> Dtype:
    """The type that sums: stated in the module's text."""
    tensors = problem.tensors
    if any(tensor.dtype.name == "f64" for tensor in tensors.values()):
        return DTYPES["f64"]
    if not any(tensors[name].dtype.is_float for name in problem.operands):
        return DTYPES["i32"]
    return DTYPES["f32"]


def ordered_reference(problem: ConvProblem, inputs: dict[str, HostTensor], threads: int | None = None) -> HostTensor:
    """The result of ``problem``; gaps hold GAP_PATTERN."""
    threads = rooms.threads() if threads is None else threads
    accumulator = accumulator_of(problem)
    own = factors(problem, inputs)
    packed = {name: _channels_last(own[name].logical, accumulator.numpy) for name in problem.operands}
    g, n, k, c = problem.g, problem.n, problem.k, problem.c
    taps = problem.filter
    if problem.direction is Pass.FWD:
        weights = packed["wei"].reshape(g, k, -1, c).transpose(0, 2, 3, 1)  # [g][tap][c][k]
        first, second, shape = packed["in"], weights, (g, n, *problem.output, k)
    elif problem.direction is Pass.BWD_DATA:
        weights = packed["wei"].reshape(g, k, -1, c).transpose(0, 2, 1, 3)  # [g][tap][k][c]
        first, second, shape = packed["out"], weights, (g, n, *problem.input, c)
    else:
        first, second, shape = packed["in"], packed["out"], (g, k, *taps, c)
    sums = np.zeros(shape, accumulator.numpy)
    sizes = (g, n, k, c, *(1,) * (3 - problem.ndim), *problem.input)
    native.ordered(
        sizes,
        WindowView.of(problem),
        problem.direction.code,
        accumulator,
        np.ascontiguousarray(first),
        np.ascontiguousarray(second),
        sums,
        threads,
    )
    if problem.op.code != 0:
        sums = sums.astype(np.float64) if accumulator.name == "i32" else sums
        d = _channels_last(inputs["d0"].logical, sums.dtype) if problem.op.num_d else None
        native.ordered_op(problem, sums, d, threads)
    result = HostTensor.empty(problem.tensors[problem.result])
    result.logical[...] = np.moveaxis(rounded(sums, result.tensor.dtype), -1, 2)
    return result


def _channels_last(cells: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return np.ascontiguousarray(np.moveaxis(cells, 2, -1).astype(dtype))
