"""Both references of a GEMM: one at BLAS speed for integers, one in a stated order: k ascending, with explicit fma."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bitgate.model import Dtype
from bitgate.model.form import Array
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import native
from bitgate.numerics.matrix import ONE_PLACE, blas_threads, matrices
from bitgate.numerics.native import PartView, TensorView
from bitgate.numerics.reference import unrounded
from bitgate.ops.gemm.problem import GemmProblem

PARALLEL_FLOPS = 2e7
"""Below this a second thread costs more than it does."""

_FORWARD = 0
"""The forward pass of native/ordered.cpp, which over a window of one place is a matrix product."""


def write_exact(
    problem: GemmProblem, inputs: Mapping[str, HostTensor], result: HostTensor, dtype: np.dtype[Any], threads: int
) -> None:
    """Store the result of integers of which ``dtype`` holds every sum; ``inputs`` are the operands as they are
    multiplied, and d0. Native code adds to +0, applies the operation and rounds once, as for a convolution."""
    threads = threads if problem.flops >= PARALLEL_FLOPS else 1
    a, b = (matrices(inputs[name], dtype, threads) for name in ("in", "wei"))
    sums = _products(a, b.transpose(0, 2, 1), threads)
    d = inputs.get("d0")
    part = PartView(0, problem.batch, 0, problem.m)
    with unrounded(result, dtype) as staging:
        native.scatter(
            TensorView.of(staging),
            ONE_PLACE,
            part,
            problem.op,
            None if d is None else TensorView.of(d),
            sums,
            threads,
        )


def _products(a: Array, b: Array, threads: int) -> Array:
    """Return A times B for each batch, computed in parallel parts of one BLAS thread each.

    A part is a number of matrices, or of rows of few large ones.
    """
    batch, rows, _ = a.shape
    sums = np.empty((batch, rows, b.shape[2]), a.dtype)
    by_batch, by_row = (-(-batch // threads), rows) if batch >= threads else (batch, -(-rows // threads))
    parts = [
        (slice(first, first + by_batch), slice(row, row + by_row))
        for first in range(0, batch, by_batch)
        for row in range(0, rows, by_row)
    ]

    def multiply(part: tuple[slice, slice]) -> None:
        np.matmul(a[part], b[part[0]], out=sums[part])

    with blas_threads(1):
        if len(parts) == 1:
            multiply(parts[0])
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                list(pool.map(multiply, parts))
    return sums


def ordered_sums(problem: GemmProblem, arrays: Mapping[str, Array], accumulator: Dtype, threads: int) -> Array:
    """Return the sums of acc = fma(A[b,m,k], B[b,n,k], acc) for k = 0, 1, ..., from +0."""
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        a = np.ascontiguousarray(arrays["in"].astype(accumulator.numpy))
        b = np.ascontiguousarray(arrays["wei"].astype(accumulator.numpy).transpose(0, 2, 1))  # [b][k][n]
    m, n, k = problem.sizes
    sums = np.zeros((problem.batch, m, n), accumulator.numpy)
    sizes = (problem.batch, m, n, k, 1, 1, 1)
    native.ordered(sizes, ONE_PLACE, _FORWARD, accumulator, a, b, sums, threads)
    return sums
