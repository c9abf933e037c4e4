"""Tensors as matrices for BLAS, in place where their memory allows it, else packed by native code; and BLAS threads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import native
from bitgate.numerics.native import PartView, TensorView, WindowView

ONE_PLACE = WindowView.identity(())
"""The window of images of a single cell, as in a tensor (g, n, c)."""


def as_matrix(host: HostTensor, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Return [g][n * cells][channels] of (g, n, channels, cells...) as a view, or None where that is impossible.

    The type must be the GEMM's, with adjacent channels in even rows.
    """
    tensor = host.tensor
    g, n, c = tensor.lengths[:3]
    rows = [(n, tensor.strides[1]), *zip(tensor.lengths[3:], tensor.strides[3:], strict=True)]
    rows = [(length, stride) for length, stride in rows if length > 1] or [(1, c)]
    even = all(outer[1] == inner[1] * inner[0] for outer, inner in pairwise(rows))
    pitch = rows[-1][1]
    if host.storage.dtype != dtype or (c > 1 and tensor.strides[2] != 1) or not even or pitch < c:
        return None
    item = dtype.itemsize
    shape = (g, prod(length for length, _ in rows), c)
    return as_strided(host.storage, shape, (tensor.strides[0] * item, pitch * item, item))


def matrices(host: HostTensor, dtype: np.dtype[Any], threads: int) -> NDArray[Any]:
    """Return [g][rows][columns] of a tensor of three axes, with adjacent columns; a copy where they are not."""
    found = as_matrix(host, dtype)
    if found is None:
        g, rows, _ = host.tensor.lengths
        found = np.empty(host.tensor.lengths, dtype)
        native.gather(TensorView.of(host), ONE_PLACE, PartView(0, g, 0, rows), found, threads)
    return found


@lru_cache(maxsize=1)
def _blas_controller() -> ThreadpoolController:
    """Return the controller of the libraries that are loaded now: looking for them costs more than most products."""
    np.dot(np.ones(2), np.ones(2))
    return ThreadpoolController().select(user_api="blas")


def blas_threads(count: int) -> AbstractContextManager[object]:
    """Return a context in which BLAS calls use ``count`` threads each. Do not nest it across threads.

    It needs a BLAS that threadpoolctl knows (OpenBLAS, MKL, BLIS). Another one keeps its own setting: results are the
    same, only the cores are shared less well.
    """
    limited: AbstractContextManager[object] = _blas_controller().limit(limits=count)
    return limited


def start_blas_threads() -> None:
    """Let BLAS start its threads now: a copy of a process has none until it needs them, and a kernel would seem to have
    started them."""
    with blas_threads(1):
        pass
