"""NaN in the result although no input has one: the kernel read memory that nobody wrote, which bitgate poisons."""

from __future__ import annotations

import numpy as np

from bitgate.verify.compare import bits_of
from bitgate.verify.diagnose.scene import Finding, Role, Scene


def poison(scene: Scene) -> Finding | None:
    if not scene.dtype.is_float or not _has_infinity(scene):
        return None
    result = scene.wrong_result
    nan = np.isnan(result.astype(np.float64)) & (bits_of(result) != scene.poison)
    count = int(np.count_nonzero(nan))
    if count == 0:
        return None
    inputs_have = any(
        array.dtype.kind not in "iu" and bool(np.isnan(array.astype(np.float32)).any())
        for array in scene.inputs.values()
    )
    if inputs_have:
        return None
    # A split reduction is added to what the result holds: that must have been cleared.
    added = f"{scene.tensor_name} itself before its zero-fill, " if scene.problem.split_k > 1 else ""
    text = (
        f"{'all' if count == scene.count else count} of them are NaN, which no input holds: the kernel read poisoned"
        f" memory that nobody had written ({added}LDS, workspace or beyond a tensor)"
    )
    return Finding("poison", Role.CONTENT, 0.95, text, {"nan": count, "wrong": scene.count})


def _has_infinity(scene: Scene) -> bool:
    """Types without an infinity overflow into NaN: there NaN does not mean poison."""
    return bool(np.isinf(np.asarray(np.inf).astype(scene.dtype.numpy).astype(np.float64)))
