"""The judging of a GEMM: its form, bounds of its sums, and the other side of the checksum identity.

With r the weights of numerics/checksum.py, C = A * B^T obeys
<C, r> = sum over b, m of place(b, m) * sum over k of A[b,m,k] * (sum over n of channel(b, n) * B[b,n,k]).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from bitgate.model.form import Array, Form
from bitgate.model.numerics import Measuring, Values, Weights
from bitgate.numerics.certificate import few_terms
from bitgate.numerics.checksum import CHUNK
from bitgate.numerics.contraction import ContractionNumerics
from bitgate.ops.gemm import reference
from bitgate.ops.gemm.problem import GemmProblem


class GemmForm(Form):
    """C[b,m,n] = sum_k A[b,m,k] * B[b,n,k]; B's logical order is (batch, N, K)."""

    axes = MappingProxyType({"in": ("b", "m", "k"), "wei": ("b", "n", "k"), "out": ("b", "m", "n")})
    result = "out"

    def apply(self, arrays: Mapping[str, Array]) -> Array:
        return np.asarray(np.einsum("bmk,bnk->bmn", arrays["in"], arrays["wei"]))


_FORM = GemmForm()


class GemmNumerics(ContractionNumerics):
    """The judging of a GEMM by its form, but faster; only the bound of a row's sums differs from the default."""

    def form(self, problem: GemmProblem) -> GemmForm:
        return _FORM

    def terms(self, problem: GemmProblem) -> int:
        return problem.k

    def largest_sum(self, problem: GemmProblem, measuring: Measuring) -> float:
        """Return max|A| times the largest sum|B| of a column."""
        found = {"in": measuring("in", ()), "wei": measuring("wei", (0, 1))}
        sums = found["in"].largest * float(found["wei"].sums.max())
        return min(sums, few_terms(problem, measuring, found))

    write_exact = staticmethod(reference.write_exact)
    ordered_sums = staticmethod(reference.ordered_sums)

    def checksum_cost(self, problem: GemmProblem) -> int:
        return _checksum_cost(problem)

    def checksum(self, problem: GemmProblem, weights: Weights, values: Values) -> Iterator[int]:
        return _checksum_parts(problem, weights, values)


def _checksum_cost(problem: GemmProblem) -> int:
    """Return the number of cells of A and B."""
    return problem.batch * problem.k * (problem.m + problem.n)


def _checksum_parts(problem: GemmProblem, weights: Weights, values: Values) -> Iterator[int]:
    """Yield parts of the sum, modulo 2^64, of C under the weights, some rows of A at a time."""
    m, n, k = problem.sizes
    step = max(1, CHUNK // k)
    for batch in range(problem.batch):
        channels = weights.of_channel(batch * n + np.arange(n))
        b = values("wei", _indices(batch * n, n, k))
        column = np.einsum("n,nk->k", channels, b)
        for begin in range(0, m, step):
            rows = min(step, m - begin)
            places = weights.of_place(batch * m + begin + np.arange(rows))
            a = values("in", _indices(batch * m + begin, rows, k))
            yield int(np.einsum("m,mk,k->", places, a, column))


def _indices(first_row: int, rows: int, k: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """Return flat logical indices [rows][k] of a tensor whose rows have k cells."""
    return ((first_row + np.arange(rows))[:, None] * k + np.arange(k)).astype(np.uint64)
