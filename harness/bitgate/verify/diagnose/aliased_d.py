"""D lies in the result's own buffer, and what stands in the wrong cells tells what became of it."""

from __future__ import annotations

import numpy as np

from bitgate.verify.compare import bits_of
from bitgate.verify.diagnose.scene import Finding, Role, Scene
from bitgate.verify.diagnose.terms import finish, terms

CELLS = 48


def aliased_d(scene: Scene) -> Finding | None:
    if not scene.problem.op.in_place or "d0" not in scene.inputs:
        return None
    d = np.asarray(scene.inputs["d0"])
    if scene.channels is not None:
        d = d[:, :, list(scene.channels)]
    if np.array_equal(bits_of(scene.wrong_result), bits_of(np.asarray(d[scene.wrong]))):
        text = f"they hold D as it was before the launch, unchanged: nobody wrote {scene.tensor_name} there"
        return Finding("never_written", Role.CONTENT, 0.95, text, {"untouched": scene.count, "wrong": scene.count})
    if all(_without_d(scene, cell) for cell in scene.sample(CELLS)):
        text = (
            f"D lies in {scene.tensor_name} itself and counts as 0 in the wrong cells: the buffer was cleared before"
            " the kernel had read it"
        )
        return Finding("zero", Role.CAUSE, 0.96, text, {}, frozenset({"zero", "other"}))
    return None


def _without_d(scene: Scene, cell: tuple[int, ...]) -> bool:
    true = scene.true_cell(cell)
    cleared = {**scene.inputs, "d0": np.zeros_like(scene.inputs["d0"])}
    sums = terms(scene.problem, scene.inputs, true).sum().reshape(1)
    return bool(finish(scene.problem, cleared, true, sums)[0] == bits_of(scene.result[cell].reshape(1))[0])
