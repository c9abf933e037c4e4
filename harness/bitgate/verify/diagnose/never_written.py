"""Cells that still hold the poison from before the launch: nobody wrote them."""

from __future__ import annotations

import numpy as np

from bitgate.operations.convolution import Pass
from bitgate.verify.compare import bits_of
from bitgate.verify.diagnose.scene import Finding, Role, Scene
from bitgate.verify.diagnose.sub_gemm_cells import owners


def never_written(scene: Scene) -> Finding | None:
    untouched = int(np.count_nonzero(bits_of(scene.wrong_result) == scene.poison))
    if untouched == 0 or _poison_is_plausible(scene, untouched):
        return None
    evidence = {"untouched": untouched, "wrong": scene.count}
    if untouched == scene.result.size:
        text = f"nothing was written: every cell of {scene.tensor_name} still holds the poison from before the launch"
        return Finding("never_written", Role.CAUSE, 0.95, text, evidence)
    if untouched == scene.count and _all_unreached(scene):
        text = (
            "the cells of dx that no sub-GEMM reaches still hold the poison from before the launch: the zero-fill is"
            " missing"
        )
        return Finding("never_written", Role.CAUSE, 1.0, text, evidence, frozenset({"border", "pad_side", "other"}))
    if untouched == scene.count:
        return Finding("never_written", Role.CONTENT, 0.9, "they were never written and still hold poison", evidence)
    return Finding("never_written", Role.CONTENT, 0.5, f"{untouched} of them were never written", evidence)


def _all_unreached(scene: Scene) -> bool:
    if scene.problem.direction is not Pass.BWD_DATA:
        return False
    return bool((owners(scene.problem).owner[scene.wrong_spatial > 0] < 0).all())


def _poison_is_plausible(scene: Scene, untouched: int) -> bool:
    """An integer type has no NaN: a few cells may hold the poison's value by chance."""
    return not scene.dtype.is_float and untouched < max(2, scene.count // 16)
