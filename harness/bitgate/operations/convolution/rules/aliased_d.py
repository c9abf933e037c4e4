"""What became of a D that lies in the result's own buffer."""

from __future__ import annotations

from bitgate.diagnose import aliased_d as shared
from bitgate.diagnose.scene import Scene
from bitgate.operation.finding import Finding
from bitgate.operations.convolution.problem import ConvProblem
from bitgate.operations.convolution.rules.terms import terms


def aliased_d(scene: Scene[ConvProblem]) -> Finding | None:
    return shared.aliased_d(scene, terms)
