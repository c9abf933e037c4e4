"""A rule for wrong cells that are zero: their sums never happened, or something cleared them."""

from __future__ import annotations

import numpy as np

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.verify.diagnose.scene import Scene, is_zero


def zero(scene: Scene[Problem]) -> Finding | None:
    zeros = int(np.count_nonzero(is_zero(scene.wrong_result)))
    evidence = {"zeros": zeros, "wrong": scene.count}
    if zeros == scene.count:
        return Finding("zero", Role.CONTENT, 1.0, "they are zero", evidence)
    if 2 * zeros > scene.count:
        return Finding("zero", Role.CONTENT, 0.4, f"{zeros} of them are zero", evidence)
    return None
