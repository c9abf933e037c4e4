"""One filter tap is missing from the sums: an index or a bounds check that loses a whole tap. Kind: other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import bits_of
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.rules.terms import terms
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import finish

CELLS = 32


def missing_tap(scene: Scene[ConvProblem]) -> Finding | None:
    if not scene.inputs or scene.problem.direction is Pass.BWD_WEIGHT or int(np.prod(scene.problem.filter)) < 2:
        return None
    candidates: NDArray[np.bool_] | None = None
    for cell in scene.sample(CELLS):
        true = scene.true_cell(cell)
        by_tap = terms(scene.problem, scene.inputs, true).sum(axis=0)
        without = finish(scene.problem, scene.inputs, true, by_tap.sum() - by_tap.reshape(-1))
        # A cell that the tap alone makes up would be zero without it: too weak to name a tap by.
        if np.count_nonzero(by_tap) < 2:
            return None
        matches = without == bits_of(scene.result[cell].reshape(1))[0]
        candidates = matches if candidates is None else candidates & matches
        if not candidates.any():
            return None
    if candidates is None or candidates.sum() != 1:
        return None
    tap = [int(i) for i in np.unravel_index(int(candidates.argmax()), scene.problem.filter)]
    text = f"filter tap {tuple(tap) if len(tap) > 1 else tap[0]} is missing from the sums of the wrong cells"
    return Finding("other", Role.CAUSE, 0.85, text, {"missing_tap": tap})
