"""The other side of the checksum identity (exact/checksum.py) of C = A * B^T:

<C, r> = sum over b, m of place(b, m) * sum over k of A[b,m,k] * (sum over n of channel(b, n) * B[b,n,k])
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bitgate.model.numerics import Values, Weights
from bitgate.numerics.checksum import CHUNK
from bitgate.ops.gemm.problem import GemmProblem


def cost(problem: GemmProblem) -> int:
    """Cells of A and B."""
    return problem.batch * problem.k * (problem.m + problem.n)


def parts(problem: GemmProblem, weights: Weights, values: Values) -> Iterator[int]:
    """Parts of the sum, modulo 2^64, of C under the weights, some rows of A at a time."""
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
    """Flat logical indices [rows][k] of a tensor whose rows have k cells."""
    return ((first_row + np.arange(rows))[:, None] * k + np.arange(k)).astype(np.uint64)
