"""The ordered reference: each cell's sum in the order that its operation states, with explicit fma, so that it equals
the naive kernels bit for bit on any finite data.

Operands are first rounded to what they are multiplied as (rounding.py). acc = fma(a, b, acc) from +0 in the
accumulator's type: f64 if any tensor is f64, i32 (wrapping) if all operands are integers, else f32.

Then the epilogue runs in the accumulator's type, in f64 where that is i32: scale v = alpha * v; bias and nd1 v = v + d;
bilinear v = alpha * v, then v = fma(beta, d, v); relu v = 0 if v < 0 else v, so that NaN and -0 stay. Then comes one
rounding to nearest even (rounding.py).

Only the numbers are shared with the exact reference: packing and rounding are numpy's, the sums are
native/ordered.cpp's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.model import DTYPES, Dtype, Elementwise, Problem
from bitgate.model.form import Array
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import native
from bitgate.numerics.rounding import factors, rounded


def accumulator_of(problem: Problem) -> Dtype:
    """Return the type that sums, as the module's text states it."""
    tensors = problem.tensors
    if any(tensor.dtype.name == "f64" for tensor in tensors.values()):
        return DTYPES["f64"]
    if not any(tensors[name].dtype.is_float for name in problem.operation.numerics.operands(problem)):
        return DTYPES["i32"]
    return DTYPES["f32"]


def ordered_reference(problem: Problem, inputs: dict[str, HostTensor], threads: int | None = None) -> HostTensor:
    """Return the result of ``problem``; padding holds GAP_PATTERN. Raises UsageError if no order is stated."""
    accumulator = accumulator_of(problem)
    cells = {name: host.logical for name, host in factors(problem, inputs).items()}
    sums = problem.operation.numerics.ordered_sums(problem, cells, accumulator, _threads(threads))
    if sums is None:
        sums = _in_any_order(problem, cells, accumulator)
    if problem.operation.numerics.epilogue(problem).code != 0:
        sums = sums.astype(np.float64) if accumulator.name == "i32" else sums
        sums = through_epilogue(problem, sums, cells, threads)
    result = HostTensor.empty(problem.tensors[problem.result])
    result.logical[...] = rounded(sums, result.tensor.dtype)
    return result


def _in_any_order(problem: Problem, cells: Mapping[str, Array], accumulator: Dtype) -> Array:
    """Return sums of integers, which wrap to the same bits in every order. Raises UsageError for other numbers."""
    form = problem.operation.numerics.form(problem)
    if form is None or accumulator.name != "i32":
        raise UsageError(f"{problem.operation} states no order of summation: leave the ordered reference out")
    with np.errstate(over="ignore"):
        return form.apply({name: cells[name].astype(np.int64) for name in form.operands}).astype(np.int32)


def sums(problem: Problem, arrays: Mapping[str, Array], threads: int | None = None) -> Array:
    """Return the sums of any numbers in the operands' places, in f64 and in logical order: in the stated order, if
    there is one."""
    numerics = problem.operation.numerics
    found = numerics.ordered_sums(problem, arrays, DTYPES["f64"], _threads(threads))
    if found is not None:
        return found
    form = numerics.form(problem)
    assert form is not None
    with np.errstate(invalid="ignore", over="ignore"):
        return form.apply({name: np.asarray(arrays[name], np.float64) for name in form.operands})


def through_epilogue(
    problem: Problem,
    sums: Array,
    arrays: Mapping[str, Array],
    threads: int | None = None,
    op: Elementwise | None = None,
) -> Array:
    """Return ``sums``, which may be overwritten, and ``arrays["d0"]`` through the epilogue or ``op``, in f32 or f64."""
    op = problem.operation.numerics.epilogue(problem) if op is None else op
    if op.code == 0:
        return sums
    values = np.ascontiguousarray(sums)
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        d = np.ascontiguousarray(arrays["d0"].astype(values.dtype)) if op.num_d else None
    native.ordered_op(op, values, d, _threads(threads))
    return values


def _threads(threads: int | None) -> int:
    return paths.threads() if threads is None else threads
