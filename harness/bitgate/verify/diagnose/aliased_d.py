"""A rule for D in the result's own buffer: the wrong cells show what became of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.verify.diagnose.scene import Scene, take
from bitgate.verify.diagnose.sums import S, Terms, cells_at_most, finish


def aliased_d(scene: Scene[S], terms: Terms[S]) -> Finding | None:
    if not scene.problem.op.in_place or "d0" not in scene.inputs:
        return None
    d = np.asarray(scene.inputs["d0"])
    if scene.channels is not None:
        d = take(d, scene.channels, scene.channel_axis)
    if np.array_equal(bits_of(scene.wrong_result), bits_of(np.asarray(d[scene.wrong]))):
        text = f"they hold D as it was before the launch, unchanged: {scene.tensor_name} was never written there"
        return Finding("never_written", Role.CONTENT, 0.95, text, {"untouched": scene.count, "wrong": scene.count})
    name, beta = scene.tensor_name, scene.problem.op.beta
    if _explains(scene, terms, np.zeros_like):
        text = (
            f"D lies in {name} itself and counts as 0 in the wrong cells: it was cleared before the kernel had read it"
        )
        return Finding("zero", Role.CAUSE, 0.96, text, {}, frozenset({"zero", "other"}))
    if _explains(scene, terms, lambda d: np.asarray((beta * d.astype(np.float64)).astype(d.dtype))):
        text = f"D lies in {name} itself and was overwritten with op(0, D) before the kernel had read it"
        return Finding("other", Role.CAUSE, 0.96, text)
    return None


def _explains(scene: Scene[S], terms: Terms[S], became: Callable[[Array], Array]) -> bool:
    """Return whether the wrong cells are what they would be with what became of D."""
    d = np.asarray(scene.inputs["d0"])
    for cell in scene.sample(cells_at_most(scene.problem.operation.numerics.terms(scene.problem))):
        true = scene.true_cell(cell)
        sums = terms(scene.problem, scene.inputs, true).sum().reshape(1)
        read = np.broadcast_to(became(d[true].reshape(1)), d.shape)
        bits = finish(scene.problem, {**scene.inputs, "d0": read}, true, sums)
        if bits[0] != bits_of(scene.result[cell].reshape(1))[0]:
            return False
    return True
