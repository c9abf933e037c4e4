"""The end of the reduction is missing from the sums: channels, or the end of the GEMM's K."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bitgate.model.finding import Finding
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.rules.terms import gemm_terms, terms
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import Floats, Index, SumOrder, lost_end


def k_tail(scene: Scene[ConvProblem]) -> Finding | None:
    return lost_end(scene, _reductions(scene))


def _reductions(scene: Scene[ConvProblem]) -> tuple[SumOrder, ...]:
    problem = scene.problem

    def flat(cell: Index) -> Floats:
        return gemm_terms(problem, terms(problem, scene.inputs, cell), cell)

    if problem.direction is Pass.BWD_WEIGHT:
        return (SumOrder("flat", "terms of the GEMM's K = N * outputs", problem.reduction, flat),)
    letter, channels = ("K", problem.k) if problem.direction is Pass.BWD_DATA else ("C", problem.c)
    return (
        SumOrder("channel", f"channels of {letter}", channels, _by_channel(scene)),
        SumOrder("flat", f"terms of the GEMM's K = taps * {letter}", problem.reduction, flat),
    )


def _by_channel(scene: Scene[ConvProblem]) -> Callable[[Index], Floats]:
    def by_channel(cell: Index) -> Floats:
        products = terms(scene.problem, scene.inputs, cell)
        return np.asarray(products.sum(axis=tuple(range(1, products.ndim))))

    return by_channel
