"""Only some groups are wrong, or groups hold each other's results: a wrong group stride or group index."""

from __future__ import annotations

from bitgate.verify.diagnose.scene import Finding, Scene
from bitgate.verify.diagnose.slices import slice_finding


def wrong_group(scene: Scene) -> Finding | None:
    if scene.problem.g < 2:
        return None
    noun = "batch item" if scene.problem.operation.name == "gemm" else "group"
    return slice_finding(scene, axis=0, kind="wrong_group", noun=noun)
