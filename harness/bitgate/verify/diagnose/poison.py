"""A rule for NaN in the result although no input has one: the kernel read memory that was never written, which bitgate
poisons."""

from __future__ import annotations

import numpy as np

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.model.host_tensor import has_gaps
from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.blocks import parts
from bitgate.verify.diagnose.scene import Scene


def poison(scene: Scene[Problem]) -> Finding | None:
    if not scene.dtype.is_float or not _has_infinity(scene):
        return None
    result = scene.wrong_result
    nan = np.isnan(result.astype(np.float64)) & (bits_of(result) != scene.poison)
    count = int(np.count_nonzero(nan))
    if count == 0:
        return None
    if any(map(_holds_nan, scene.inputs.values())):
        return None
    adds = scene.problem.operation.diagnostics.adds_to_result(scene.problem)
    added = f"{scene.tensor_name} itself before its zero-fill, " if adds else ""
    between = "padding between rows, " if any(map(has_gaps, scene.problem.tensors.values())) else ""
    text = (
        f"{'all' if count == scene.count else count} of them are NaN, which no input holds: the kernel read poisoned"
        f" memory that had never been written ({added}{between}LDS, workspace or beyond a tensor)"
    )
    return Finding("poison", Role.CONTENT, 0.95, text, {"nan": count, "wrong": scene.count})


def _holds_nan(array: Array) -> bool:
    return array.dtype.kind not in "iu" and any(
        bool(np.isnan(part.astype(np.float32)).any()) for (part,) in parts(array)
    )


def _has_infinity(scene: Scene[Problem]) -> bool:
    """Return whether the type has an infinity; the others overflow into NaN, which then does not mean poison."""
    return bool(np.isinf(np.asarray(np.inf).astype(scene.dtype.numpy).astype(np.float64)))
