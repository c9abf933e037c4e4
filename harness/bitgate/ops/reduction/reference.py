"""The plain definition of a reduction, and the order in which naive kernels sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype
from bitgate.ops.reduction.problem import Kind, ReductionProblem

_SIGN = np.uint64(1 << 63)


def reduced(problem: ReductionProblem, x: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
    """Return values, and the index of an argmax, by role; sums of i32 wrap.

    ``x`` is (outer, length, inner) in int64 or f64, which hold every sum.
    """
    if problem.kind is Kind.SUM:
        sums = x.sum(axis=1)
        if problem.dtypes.out.name == "i32":
            sums = sums.astype(np.int64).astype(np.int32)
        return {"y": sums}
    cells = np.asarray(x, np.float64)
    index = np.argmax(order(cells), axis=1)
    y = np.take_along_axis(cells, index[:, None, :], axis=1)[:, 0, :]
    values = {"y": np.where(np.isnan(y), np.nan, y)}
    return values if problem.kind is Kind.MAX else {**values, "index": index}


def order(cells: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return integers that are ordered as maxima see values: -inf .. -0, +0 .. inf, NaN."""
    bits = cells.view(np.uint64) if cells.flags.c_contiguous else np.ascontiguousarray(cells).view(np.uint64)
    keys = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    return np.where(np.isnan(cells), np.uint64(2**64 - 1), keys)


def ordered_sums(x: NDArray[Any], accumulator: Dtype) -> NDArray[Any]:
    """Return the sums of acc = acc + x[o,l,i] for l = 0, 1, ..., from +0, in the accumulator's type; i32 wraps."""
    sums = np.zeros((x.shape[0], x.shape[2]), accumulator.numpy)
    with np.errstate(over="ignore", invalid="ignore"):
        for at in range(x.shape[1]):
            sums += x[:, at, :].astype(accumulator.numpy)
    return sums


def ordered_maxima(x: NDArray[Any], accumulator: Dtype) -> NDArray[Any]:
    """Return the first cell, then each that is above what was found before.

    This compares values, where ``reduced`` orders bits.
    """
    cells = x.astype(accumulator.numpy)
    found: NDArray[Any] = cells[:, 0, :].copy()
    for at in range(1, cells.shape[1]):
        cell = cells[:, at, :]
        of_zeros = (cell == 0) & (found == 0) & ~np.signbit(cell) & np.signbit(found)
        above = (cell > found) | of_zeros | (np.isnan(cell) & ~np.isnan(found))
        found[above] = cell[above]
    if accumulator.is_float:
        found[np.isnan(found)] = np.nan
    return found
