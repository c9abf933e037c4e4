"""One rounding to nearest even from f32, f64 or i32 to any dtype, by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.problem.dtype import Dtype


def rounded(values: NDArray[Any], dtype: Dtype) -> NDArray[Any]:
    """``values`` in ``dtype``'s storage type. Integers saturate, and NaN becomes 0 there; what is too large for a
    float type becomes what ml_dtypes and numpy make of it: infinity, or NaN in a type without one."""
    if not dtype.is_float:
        limits = np.iinfo(dtype.numpy)
        whole: NDArray[Any] = np.clip(np.nan_to_num(np.rint(values)), limits.min, limits.max)
        return whole.astype(dtype.numpy)
    if values.dtype == np.float64 and dtype.bytes < 4:
        values = _to_odd_f32(values)
    with np.errstate(over="ignore"):
        return values.astype(dtype.numpy)


def _to_odd_f32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """f64 to f32 keeping in the last bit whether anything was lost. ml_dtypes goes from f64 to its types by way of f32;
    with an ordinary rounding there, ties would be decided twice."""
    with np.errstate(over="ignore"):
        nearest = values.astype(np.float32)
    back = nearest.astype(np.float64)
    lost = (back != values) & np.isfinite(back)
    bits = nearest.view(np.uint32) - (lost & (np.abs(back) > np.abs(values)))
    odd: NDArray[np.float32] = (bits | lost).astype(np.uint32).view(np.float32)
    return odd
