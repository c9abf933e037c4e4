"""Only some groups are wrong, or groups hold each other's results: a wrong group stride or group index."""

from __future__ import annotations

from bitgate.model.finding import Finding
from bitgate.ops.convolution.problem import ConvProblem
from bitgate.verify.diagnose.places import slice_finding
from bitgate.verify.diagnose.scene import Scene


def wrong_group(scene: Scene[ConvProblem]) -> Finding | None:
    if scene.problem.g < 2:
        return None
    return slice_finding(scene, axis=0, kind="wrong_group", noun="group", along="g")
