"""The cells of dx that no sub-GEMM reaches still hold poison: they were to be cleared, and nobody did."""

from __future__ import annotations

from bitgate.model.finding import Finding, Role
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.rules.owners import owners
from bitgate.ops.convolution.rules.positions import wrong_positions
from bitgate.verify.diagnose.rules import untouched
from bitgate.verify.diagnose.scene import Scene


def zero_fill(scene: Scene[ConvProblem]) -> Finding | None:
    count = untouched(scene)
    if count == scene.result.size or count != scene.count or not _all_unreached(scene):
        return None
    text = (
        "the cells of dx that no sub-GEMM reaches still hold the poison from before the launch: the zero-fill is"
        " missing"
    )
    implies = frozenset({"never_written", "border", "pad_side", "other"})
    return Finding("never_written", Role.CAUSE, 1.0, text, {"untouched": count, "wrong": scene.count}, implies)


def _all_unreached(scene: Scene[ConvProblem]) -> bool:
    if scene.problem.direction is not Pass.BWD_DATA:
        return False
    return bool((owners(scene.problem).owner[wrong_positions(scene) > 0] < 0).all())
