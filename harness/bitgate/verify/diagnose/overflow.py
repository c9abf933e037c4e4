"""A rule for infinite, NaN or saturated cells where the reference is finite: an accumulator or a conversion is too
narrow."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from bitgate.model import Dtype, Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.blocks import parts
from bitgate.verify.diagnose.scene import Scene


def overflow(scene: Scene[Problem]) -> Finding | None:
    counted = [_counted(scene, cells) for (cells,) in parts(scene.wrong_result)]
    count, infinite = (sum(numbers) for numbers in zip(*counted, strict=True))
    # Two values of an integer type are its ends: some wrong cells hold them by chance.
    if count == 0 or (not scene.dtype.is_float and 2 * count < scene.count):
        return None
    words = "infinite" if infinite == count else "at the end of the range of " + scene.dtype.name
    who = "they are all" if count == scene.count else f"{count} of them are"
    evidence = {"overflowed": count, "infinite": infinite, "wrong": scene.count}
    return Finding("overflow", Role.CONTENT, 0.9 if count == scene.count else 0.5, f"{who} {words}", evidence)


def _counted(scene: Scene[Problem], cells: Array) -> tuple[int, int]:
    """Return the number of cells at the end of their range, and of infinite ones."""
    values = cells.astype(np.float64)
    if scene.dtype.is_float:
        largest = _largest(scene.dtype)
        without_infinity = not np.isinf(np.asarray(np.inf).astype(scene.dtype.numpy).astype(np.float64))
        nan = np.isnan(values) & (bits_of(cells) != scene.poison)
        over = np.isinf(values) | (np.abs(values) == largest) | (nan & without_infinity)
    else:
        info = np.iinfo(scene.dtype.numpy)
        over = (values == info.min) | (values == info.max)
    return int(np.count_nonzero(over)), int(np.count_nonzero(np.isinf(values)))


def _largest(dtype: Dtype) -> float:
    return float(ml_dtypes.finfo(dtype.numpy).max)  # type: ignore[no-untyped-call]
