"""What a GEMM's wrong cells have in common."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bitgate.model.finding import Finding, Rule
from bitgate.numerics.bits import Array
from bitgate.ops.gemm.problem import GemmProblem
from bitgate.verify.diagnose import sums
from bitgate.verify.diagnose.places import slice_finding, tail_along, tail_of_rows
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import Floats, Index, SumOrder, lost_end


def terms(problem: GemmProblem, inputs: Mapping[str, Array], cell: Index) -> Floats:
    """The products of a cell of C in f64, in the order of k."""
    batch, m, n = cell
    a, b = inputs["in"][batch, m], inputs["wei"][batch, n]
    return np.asarray(a.astype(np.float64) * b.astype(np.float64))


def aliased_d(scene: Scene[GemmProblem]) -> Finding | None:
    return sums.aliased_d(scene, terms)


def wrong_batch(scene: Scene[GemmProblem]) -> Finding | None:
    """Only some batch items are wrong, or they hold each other's results."""
    if scene.problem.batch < 2:
        return None
    return slice_finding(scene, axis=0, kind="wrong_group", noun="batch item")


def k_tail(scene: Scene[GemmProblem]) -> Finding | None:
    _, _, k = scene.problem.sizes
    by_k = SumOrder("channel", "terms of K", k, lambda cell: terms(scene.problem, scene.inputs, cell))
    return lost_end(scene, (by_k,))


def column_tail(scene: Scene[GemmProblem]) -> Finding | None:
    return tail_along(scene, axis=2)


def tile_tail(scene: Scene[GemmProblem]) -> Finding | None:
    return tail_of_rows(scene, scene.wrong_along(1))


RULES: tuple[Rule, ...] = (aliased_d, wrong_batch, k_tail, column_tail, tile_tail)
"""In the order in which equally certain findings are reported."""
