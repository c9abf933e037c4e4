"""One rounding to nearest even from f32, f64 or i32 to any dtype: the rule that every kernel's conversions follow.

Integers saturate, and NaN becomes 0 there. Numbers too large for f32, f16 or bf16 become infinity. In the 8-bit floats
a finite number never does: it saturates to the largest one. Infinity stays one in bf8ocp, the only type of them that
has it, and is NaN in the others; NaN is the type's canonical one; the FNUZ types have no -0, it is +0 there.
kernels/include/bitgate/float8.hpp says the same in C++.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype


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
