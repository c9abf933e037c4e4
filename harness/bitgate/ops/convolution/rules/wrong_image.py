"""Only some images of the batch are wrong: a wrong batch offset, or a split over images that lost a part (#10627)."""

from __future__ import annotations

from bitgate.model.finding import Finding
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.verify.diagnose.places import slice_finding
from bitgate.verify.diagnose.scene import Scene


def wrong_image(scene: Scene[ConvProblem]) -> Finding | None:
    if scene.problem.n < 2 or scene.problem.direction is Pass.BWD_WEIGHT:
        return None
    return slice_finding(scene, axis=1, kind="wrong_image", noun="image", along="n")
