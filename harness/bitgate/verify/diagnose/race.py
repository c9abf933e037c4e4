"""A rule for two runs that differ on the same input: a race, or a read of memory that was never written."""

from __future__ import annotations

import numpy as np

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import bits_of
from bitgate.verify.diagnose.scene import Scene


def race(scene: Scene[Problem]) -> Finding | None:
    if scene.other_run is None:
        return None
    differ = int(np.count_nonzero(bits_of(scene.result) != bits_of(scene.other_run)))
    if differ == 0:
        return None
    other_wrong = int(np.count_nonzero(bits_of(scene.other_run) != bits_of(scene.reference)))
    text = (
        f"{scene.runs[0]} and {scene.runs[1]} on the same input differ in {differ} of {scene.result.size} cells:"
        " a race, or a read of memory that was never written"
    )
    evidence = {
        "differ": differ,
        "runs": [{"run": scene.runs[0], "wrong": scene.count}, {"run": scene.runs[1], "wrong": other_wrong}],
    }
    return Finding("race", Role.CAUSE, 1.0, text, evidence)
