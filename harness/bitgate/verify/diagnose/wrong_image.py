"""Only some images of the batch are wrong: a wrong batch offset, or a split over images that lost a part (#10627)."""

from __future__ import annotations

from bitgate.operations.convolution import Pass
from bitgate.verify.diagnose.scene import Finding, Scene
from bitgate.verify.diagnose.slices import slice_finding


def wrong_image(scene: Scene) -> Finding | None:
    if scene.problem.n < 2 or scene.problem.operation.name in (Pass.BWD_WEIGHT, "gemm"):
        return None
    return slice_finding(scene, axis=1, kind="wrong_image", noun="image")
