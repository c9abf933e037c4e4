"""One rounding to nearest even from f32, f64 or i32 to any dtype: the rule that every kernel's conversions follow.

Integers saturate, and NaN becomes 0 there. Numbers too large for f32, f16 or bf16 become infinity. In the 8-bit floats
a finite number never does: it saturates to the largest one. Infinity stays one in bf8ocp, the only type of them that
has it, and is NaN in the others; NaN is the type's canonical one; the FNUZ types have no -0, it is +0 there.
kernels/include/bitgate/float8.hpp says the same in C++.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype, Elementwise, Problem
from bitgate.model.elementwise import applied
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.bits import bits_of


def rounded(values: NDArray[Any], dtype: Dtype) -> NDArray[Any]:
    """Return ``values`` in ``dtype``'s storage type."""
    if not dtype.is_float:
        limits = np.iinfo(dtype.numpy)
        whole: NDArray[Any] = np.clip(np.nan_to_num(np.rint(values)), limits.min, limits.max)
        return whole.astype(dtype.numpy)
    if dtype.is_float8:
        most = largest(dtype)
        values = np.where(np.isfinite(values), np.clip(values, -most, most), values)
    if values.dtype == np.float64 and dtype.bytes < 4:
        values = _to_odd_f32(values)
    with np.errstate(over="ignore"):
        result: NDArray[Any] = np.asarray(values.astype(dtype.numpy))
    if dtype.is_float8:
        result.view(np.uint8)[np.isnan(result)] = dtype.nan
    return result


@lru_cache(maxsize=32)
def largest(dtype: Dtype) -> float:
    """Return the largest finite number of a type."""
    if not dtype.is_float:
        return float(dtype.exact_integer)
    return float(ml_dtypes.finfo(dtype.numpy).max)  # type: ignore[no-untyped-call]


def smallest(dtype: Dtype) -> float:
    """Return the smallest positive number of a float type, a subnormal one."""
    return float(ml_dtypes.finfo(dtype.numpy).smallest_subnormal)  # type: ignore[no-untyped-call]


def smallest_normal(dtype: Dtype) -> float:
    return float(ml_dtypes.finfo(dtype.numpy).smallest_normal)  # type: ignore[no-untyped-call]


FLUSHED = ("f16", "bf16")
"""Types whose subnormal operands the matrix instructions of some targets take for zeros."""


def flushed(magnitudes: NDArray[np.float64], dtype: Dtype) -> NDArray[np.float64]:
    """Return magnitudes without those that such a matrix instruction takes for zeros."""
    return np.where(magnitudes < smallest_normal(dtype), 0.0, magnitudes) if dtype.name in FLUSHED else magnitudes


def ulps_between(first: NDArray[Any], second: NDArray[Any]) -> int:
    """Return the largest distance of finite floats in units in the last place; -0 and 0 are the same number."""
    return int(np.abs(_in_order(first) - _in_order(second)).max(initial=0))


def _in_order(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return sign-magnitude bits as integers in the order of the values, so that neighbours differ by one."""
    bits = bits_of(array).astype(np.int64)
    sign = np.int64(-(2**63)) if array.dtype.itemsize == 8 else np.int64(1 << (8 * array.dtype.itemsize - 1))
    return np.asarray(np.where(bits & sign, -(bits & ~sign), bits))


def _to_odd_f32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Convert f64 to f32, keeping in the last bit whether anything was lost.

    ml_dtypes converts from f64 to its types through f32; with an ordinary rounding there, ties would be decided twice.
    """
    with np.errstate(over="ignore"):
        nearest = values.astype(np.float32)
    back = nearest.astype(np.float64)
    lost = (back != values) & np.isfinite(back)
    bits = nearest.view(np.uint32) - (lost & (np.abs(back) > np.abs(values)))
    odd: NDArray[np.float32] = (bits | lost).astype(np.uint32).view(np.float32)
    return odd


def factors(problem: Problem, inputs: dict[str, HostTensor]) -> dict[str, HostTensor]:
    """Return the inputs with all operands as they are multiplied; what does not change is the same object.

    Each element goes through its operand's operation, and is then rounded once to the multiplicands' type. The
    operation acts in f64 for f64 and i8 operands, else in f32. An element that just passes and has that type already is
    not changed.
    """
    numerics = problem.operation.numerics
    if numerics.form(problem) is None:
        return inputs
    operands = numerics.operands(problem)
    return {name: _factor(problem, host) if name in operands else host for name, host in inputs.items()}


def gain(op: Elementwise) -> int:
    """Return how much larger an operand's operation can make an element."""
    return int(op.alpha) if op.name == "scale" else 1


def gain_of(problem: Problem, operand: str) -> int:
    """Return the gain of an operand's own operation."""
    return gain(problem.operation.numerics.operation_of(problem, operand))


def _factor(problem: Problem, host: HostTensor) -> HostTensor:
    own, numerics = host.tensor.dtype, problem.operation.numerics
    op = numerics.operation_of(problem, host.tensor.name)
    dtype = numerics.multiplicand(problem, host.tensor.name)
    if op.name == "pass" and dtype == own:
        return host
    epilogue = np.float32 if own.is_float and own.bytes <= 4 else np.float64
    factor = HostTensor.empty(replace(host.tensor, dtype=dtype))
    with np.errstate(over="ignore", invalid="ignore"):  # a signalling NaN, a scaled infinity: both are data here
        factor.logical[...] = rounded(applied(op, host.logical.astype(epilogue)), dtype)
    return factor
