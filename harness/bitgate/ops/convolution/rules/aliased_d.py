"""What became of a D that lies in the result's own buffer."""

from __future__ import annotations

from bitgate.model.finding import Finding
from bitgate.ops.convolution.problem import ConvProblem
from bitgate.ops.convolution.rules.terms import terms
from bitgate.verify.diagnose import sums
from bitgate.verify.diagnose.scene import Scene


def aliased_d(scene: Scene[ConvProblem]) -> Finding | None:
    return sums.aliased_d(scene, terms)
