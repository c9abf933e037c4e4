"""Only the last channels are wrong: of dw either kind of channel."""

from __future__ import annotations

from bitgate.model.finding import Finding
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.verify.diagnose.places import tail_along
from bitgate.verify.diagnose.scene import Scene


def channel_tail(scene: Scene[ConvProblem]) -> Finding | None:
    axes = (2, 1) if scene.problem.direction is Pass.BWD_WEIGHT else (2,)
    return next((finding for axis in axes if (finding := tail_along(scene, axis, along="kc"))), None)
