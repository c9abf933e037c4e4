"""Only the last channels are wrong: of dw either kind of channel."""

from __future__ import annotations

from bitgate.diagnose.channel_tail import tail_along
from bitgate.diagnose.scene import Scene
from bitgate.operation.finding import Finding
from bitgate.operations.convolution.problem import ConvProblem, Pass


def channel_tail(scene: Scene[ConvProblem]) -> Finding | None:
    axes = (2, 1) if scene.problem.direction is Pass.BWD_WEIGHT else (2,)
    return next((finding for axis in axes if (finding := tail_along(scene, axis, along="kc"))), None)
