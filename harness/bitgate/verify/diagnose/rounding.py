"""A rule for wrong cells that are all a last place or two off: the sums are right and a rounding is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.blocks import parts
from bitgate.verify.diagnose.scene import Scene

MOST = 2
"""The largest distance, in units in the last place."""
CELLS = 1 << 16
"""The number of cells that are examined at once."""


def rounding(scene: Scene[Problem]) -> Finding | None:
    if not scene.dtype.is_float:
        return None
    worst = 0
    for cells in parts(scene.wrong_result, scene.wrong_reference, cells=CELLS):
        most = _close(*cells)
        if not most:
            return None
        worst = max(worst, most)
    unit = "1 unit" if worst == 1 else f"{worst} units"
    text = f"every difference is at most {unit} in the last place of {scene.dtype}: a rounding step, not an index"
    evidence = {"largest_ulps": worst, "wrong": scene.count}
    return Finding("rounding", Role.CAUSE, 0.9, text, evidence, frozenset({"other"}))


def _close(result: Array, reference: Array) -> int:
    """Return the largest distance in units in the last place, 0 if it is no matter of rounding.

    The distance of -0 from 0 counts as 0: that is a lost sign.
    """
    if not (_finite(result).all() and _finite(reference).all()):
        return 0
    worst = int(np.abs(_ordered(result) - _ordered(reference)).max(initial=0))
    return worst if worst <= MOST else 0


def _finite(array: Array) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(array.astype(np.float64)))


def _ordered(array: Array) -> NDArray[np.int64]:
    """Return sign-magnitude bits as integers in the order of the values, so that neighbours differ by one."""
    bits = bits_of(array).astype(np.int64)
    sign = np.int64(-(2**63)) if array.dtype.itemsize == 8 else np.int64(1 << (8 * array.dtype.itemsize - 1))
    return np.asarray(np.where(bits & sign, -(bits & ~sign), bits))
