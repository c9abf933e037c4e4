"""Which sub-GEMM of bwd_data owns which cell of dx."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bitgate.ops.convolution.decomposition import SubGemm, axis_classes, sub_gemms
from bitgate.ops.convolution.problem import ConvProblem, Pass


@dataclass(frozen=True, eq=False)
class CellOwners:
    """``owner`` has the spatial shape of dx and holds the index of the sub-GEMM that writes a cell, -1 if none."""

    gemms: tuple[SubGemm, ...]
    owner: NDArray[np.int64]


@lru_cache(maxsize=8)
def owners(problem: ConvProblem) -> CellOwners:
    gemms = sub_gemms(problem)
    tildes = [_tilde_of_cells(problem, axis) for axis in range(problem.ndim)]
    counts = [int(axis.max(initial=0)) + 1 for axis in tildes]
    index_of = np.full(counts, -1, np.int64)
    for gemm in gemms:
        if all(t < n for t, n in zip(gemm.tilde, counts, strict=True)):
            index_of[gemm.tilde] = gemm.index
    grid = np.ix_(*tildes)
    owner = index_of[grid]
    for axis in grid:
        owner = np.where(axis < 0, -1, owner)
    return CellOwners(gemms, owner)


def owners_of_several(problem: ConvProblem) -> CellOwners | None:
    """None where there is one sub-GEMM, or none."""
    if problem.direction is not Pass.BWD_DATA:
        return None
    cells = owners(problem)
    return cells if len(cells.gemms) > 1 else None


def _tilde_of_cells(problem: ConvProblem, axis: int) -> NDArray[np.int64]:
    """For each dx coordinate of the axis the class that writes it, -1 if none does."""
    tilde = np.full(problem.input[axis], -1, np.int64)
    stride, dilation, pad = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
    for cls in axis_classes(problem, axis):
        if cls.length == 0:
            continue
        x = np.arange(cls.begin, cls.end) * stride + cls.tilde * dilation - pad
        tilde[x[(x >= 0) & (x < tilde.size)]] = cls.tilde
    return tilde
