"""Laws of a GEMM: linear in A and B; batch, rows, columns and reduction in another order, or in parts.

They are called after the letters of a convolution without space, as records have them: g the batch, n the rows of C,
k its columns, c the reduction.
"""

from __future__ import annotations

from collections.abc import Callable

from bitgate.operation.law import Axis, Law, cut, linear, turned
from bitgate.operations.gemm.problem import GemmProblem, gemm_problem


def _resized(place: int) -> Callable[[GemmProblem, int], GemmProblem]:
    """``place`` in (batch, M, N, K)."""

    def resized(problem: GemmProblem, length: int) -> GemmProblem:
        sizes = [problem.batch, *problem.sizes]
        sizes[place] = length
        batch, m, n, k = sizes
        return gemm_problem(
            problem.dtypes,
            problem.layout,
            batch,
            m,
            n,
            k,
            problem.op,
            in_op=problem.in_op,
            wei_op=problem.wei_op,
            gap=problem.gap,
            split_k=problem.split_k,
        )

    return resized


AXES = tuple(
    Axis(letter, noun, places, _resized(place), apart=letter == "g")
    for place, (letter, noun, places) in enumerate(
        (
            ("g", "groups", {"in": 0, "wei": 0, "out": 0}),
            ("n", "images", {"in": 1, "out": 1}),
            ("k", "channels k", {"wei": 1, "out": 2}),
            ("c", "channels c", {"in": 2, "wei": 2}),
        )
    )
)

LAWS: tuple[Law, ...] = (linear(lambda problem: problem.operands), *map(turned, AXES), *map(cut, AXES))
