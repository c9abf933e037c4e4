"""On one-hot data: which element reached a cell outside its receptive field, or missed one of it."""

from __future__ import annotations

from bitgate.diagnose import receptive_field as shared
from bitgate.diagnose.scene import Scene
from bitgate.exact.probe import ROLES, met, product_of_ones
from bitgate.operation.finding import Finding
from bitgate.operations.convolution.problem import ConvProblem

RELATION: shared.Relation[ConvProblem] = shared.Relation(ROLES, met, product_of_ones)


def receptive_field(scene: Scene[ConvProblem]) -> Finding | None:
    return shared.receptive_field(scene, RELATION)
