"""A rule for cells that still hold the poison from before the launch: they were never written."""

from __future__ import annotations

import numpy as np

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import bits_of
from bitgate.verify.diagnose.scene import Scene


def never_written(scene: Scene[Problem]) -> Finding | None:
    count = untouched(scene)
    if count == 0:
        return None
    evidence = {"untouched": count, "wrong": scene.count}
    if count == scene.result.size:
        text = f"nothing was written: every cell of {scene.tensor_name} still holds the poison from before the launch"
        return Finding("never_written", Role.CAUSE, 0.95, text, evidence)
    if count == scene.count:
        return Finding("never_written", Role.CONTENT, 0.9, "they were never written and still hold poison", evidence)
    return Finding("never_written", Role.CONTENT, 0.5, f"{count} of them were never written", evidence)


def untouched(scene: Scene[Problem]) -> int:
    """Return the number of wrong cells that hold the poison; 0 if they may do so by chance."""
    count = int(np.count_nonzero(bits_of(scene.wrong_result) == scene.poison))
    return 0 if _is_plausible(scene, count) else count


def _is_plausible(scene: Scene[Problem], count: int) -> bool:
    """Return whether chance may explain the poison in a few cells: an integer type has no NaN."""
    return not scene.dtype.is_float and count < max(2, scene.count // 16)
