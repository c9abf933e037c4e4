"""The exact reference: integer data, so any order of summation gives the same bits, so BLAS may do it.

Each pass is one dense GEMM per chunk of images, beside two native steps that own all indices, types and layouts:
`gather` makes rows of window positions from an image, `scatter` sums columns into cells, applies the operation, rounds
once and stores. ::

    fwd         scatter(gather(x, window) @ w^T)
    bwd_data    scatter(dy @ w, window)            col2im: each tap's product is added where the tap points
    bwd_weight  store(sum over chunks of dy^T @ gather(x, window))

A chunk's columns fit the caches; chunks run side by side, one BLAS thread each, where there are enough of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from bitgate import rooms
from bitgate.exact import blas, native
from bitgate.exact.certificate import measure_bound
from bitgate.exact.native import PartView, TensorView, WindowView
from bitgate.exact.rounding import rounded
from bitgate.exact.tensor import HostTensor
from bitgate.problem.conv import ConvProblem, Pass, Tensor
from bitgate.problem.dtype import DTYPES

CHUNK_BYTES = 24 << 20
"""Columns of one chunk. Larger ones leave the caches, smaller ones make the GEMM's rows few."""

PARALLEL_FLOPS = 2e7
"""Below this a second thread costs more than it does."""


class InexactError(ValueError):
    """The data are not such that every order of summation gives the same bits; the ordered reference takes them."""


def exact_reference(problem: ConvProblem, inputs: dict[str, HostTensor], threads: int | None = None) -> HostTensor:
    """The result of ``problem``, each exact sum rounded once; gaps hold GAP_PATTERN.

    Raises InexactError unless the data are integers whose sums stay within f64's 53 bits. f32 BLAS is used where they
    stay below 2^24.
    """
    bound = measure_bound(problem, inputs)
    if not bound.integers or bound.value > DTYPES["f64"].exact_integer:
        what = f"sums may reach {bound.value}" if bound.integers else "the data are not integers"
        raise InexactError(f"{what}: use the ordered reference")
    dtype = np.dtype(np.float32 if bound.value < DTYPES["f32"].exact_integer else np.float64)
    result = HostTensor.empty(problem.tensors[problem.result])
    _Run(problem, inputs, result, dtype, rooms.threads() if threads is None else threads).run()
    return result


@dataclass(frozen=True)
class _Chunk:
    groups: slice
    images: slice

    @property
    def part(self) -> PartView:
        return PartView(self.groups.start, self.groups.stop, self.images.start, self.images.stop)

    @property
    def shape(self) -> tuple[int, int]:
        return self.groups.stop - self.groups.start, self.images.stop - self.images.start


def _chunks(groups: int, images: int, bytes_each: int, threads: int) -> list[_Chunk]:
    """Parts whose columns (``bytes_each`` for a group of an image) fit CHUNK_BYTES, enough of them for the threads."""
    fit = max(1, CHUNK_BYTES // bytes_each)
    by_group = min(groups, fit)
    by_image = max(1, min(fit // by_group, -(-images // threads)))
    return [
        _Chunk(slice(g, min(g + by_group, groups)), slice(n, min(n + by_image, images)))
        for g in range(0, groups, by_group)
        for n in range(0, images, by_image)
    ]


class _Buffer:
    """Memory of one worker, reused from chunk to chunk so that its pages are touched once."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._flat = np.empty(0, dtype)

    def array(self, *shape: int) -> NDArray[Any]:
        count = prod(shape)
        if self._flat.size < count:
            self._flat = np.empty(count, self._flat.dtype)
        return self._flat[:count].reshape(shape)


class _Run:
    """One reference computation. ``threads`` are split between chunks side by side and BLAS within each."""

    def __init__(
        self,
        problem: ConvProblem,
        inputs: dict[str, HostTensor],
        result: HostTensor,
        dtype: np.dtype[Any],
        threads: int,
    ) -> None:
        self.problem, self.inputs, self.result, self.dtype = problem, inputs, result, dtype
        self.threads = threads if problem.flops >= PARALLEL_FLOPS else 1
        self.window = WindowView.of(problem)
        self.taps = prod(problem.filter)
        self.positions = prod(problem.output)
        bytes_each = self.positions * self.taps * problem.c * dtype.itemsize
        self.chunks = _chunks(problem.g, problem.n, bytes_each, self.threads)
        self.outer = min(self.threads, len(self.chunks))
        self.inner = max(1, self.threads // self.outer)
        # f8 results are rounded by ml_dtypes, from columns stored as they are.
        self.staging = result if result.tensor.dtype.name not in _F8 else self._unrounded()

    def run(self) -> None:
        passes: dict[Pass, Callable[[], None]] = {
            Pass.FWD: self._fwd,
            Pass.BWD_DATA: self._bwd_data,
            Pass.BWD_WEIGHT: self._bwd_weight,
        }
        with blas.threads(self.inner):
            passes[self.problem.direction]()
        if self.staging is not self.result:
            self.result.logical[...] = rounded(self.staging.logical, self.result.tensor.dtype)

    def _fwd(self) -> None:
        weights = self._weights().transpose(0, 2, 1)  # [g][taps * c][k]
        identity = WindowView.identity(self.problem.output)

        def work(chunk: _Chunk, columns: _Buffer, product: _Buffer) -> None:
            g, n = chunk.shape
            rows = self._window_rows(chunk, columns)
            out = product.array(g, n * self.positions, self.problem.k)
            np.matmul(rows, weights[chunk.groups], out=out)
            self._scatter(identity, chunk.part, out)

        self._spread(work)

    def _bwd_data(self) -> None:
        weights = self._weights()  # [g][k][taps * c]

        def work(chunk: _Chunk, columns: _Buffer, product: _Buffer) -> None:
            g, n = chunk.shape
            rows = self._image_rows("out", chunk, columns)
            out = product.array(g, n * self.positions, self.taps * self.problem.c)
            np.matmul(rows, weights[chunk.groups], out=out)
            self._scatter(self.window, chunk.part, out)

        self._spread(work)

    def _bwd_weight(self) -> None:
        p = self.problem
        sums = np.zeros((p.g, p.k, self.taps * p.c), self.dtype)
        lock = threading.Lock()

        def work(chunk: _Chunk, columns: _Buffer, product: _Buffer) -> None:
            factors = _Buffer(self.dtype)
            rows = self._image_rows("out", chunk, factors).transpose(0, 2, 1)
            out = product.array(chunk.shape[0], p.k, self.taps * p.c)
            np.matmul(rows, self._window_rows(chunk, columns), out=out)
            with lock:
                sums[chunk.groups] += out

        self._spread(work)
        self._scatter(WindowView.identity(p.filter), PartView(0, p.g, 0, p.k), sums, self.threads)

    def _spread(self, work: Callable[[_Chunk, _Buffer, _Buffer], None]) -> None:
        waiting = list(reversed(self.chunks))

        def worker() -> None:
            columns, product = _Buffer(self.dtype), _Buffer(self.dtype)
            while True:
                try:
                    chunk = waiting.pop()
                except IndexError:
                    return
                work(chunk, columns, product)

        if self.outer == 1:
            worker()
            return
        with ThreadPoolExecutor(self.outer) as pool:
            for done in [pool.submit(worker) for _ in range(self.outer)]:
                done.result()

    def _weights(self) -> NDArray[Any]:
        """[g][k][taps * c]: weights read as images of the filter's size, k counting them."""
        p, host = self.problem, self.inputs["wei"]
        matrix = _as_matrix(host, self.dtype)
        if matrix is None:
            matrix = np.empty((p.g, p.k * self.taps, p.c), self.dtype)
            native.gather(host, WindowView.identity(p.filter), PartView(0, p.g, 0, p.k), matrix, self.threads)
        return _fold(matrix, p.k)

    def _image_rows(self, name: str, chunk: _Chunk, buffer: _Buffer) -> NDArray[Any]:
        """[g][cells][channels] of a chunk's images, in place if they lie in memory like that."""
        host = self.inputs[name]
        size = host.tensor.lengths[3:]
        cells, (g, n) = prod(size), chunk.shape
        matrix = _as_matrix(host, self.dtype)
        if matrix is not None:
            return matrix[chunk.groups, chunk.images.start * cells : chunk.images.stop * cells]
        rows = buffer.array(g, n * cells, host.tensor.lengths[2])
        native.gather(host, WindowView.identity(size), chunk.part, rows, self.inner)
        return rows

    def _window_rows(self, chunk: _Chunk, buffer: _Buffer) -> NDArray[Any]:
        """[g][positions][taps * c] of x under the filter."""
        p = self.problem
        if p.output == p.input and self.taps == 1 and not any(p.left_pad) and not p.strided:
            return self._image_rows("in", chunk, buffer)
        g, n = chunk.shape
        rows = buffer.array(g, n * self.positions, self.taps * p.c)
        native.gather(self.inputs["in"], self.window, chunk.part, rows, self.inner)
        return rows

    def _scatter(self, window: WindowView, part: PartView, columns: NDArray[Any], threads: int | None = None) -> None:
        native.scatter(
            TensorView.of(self.staging),
            window,
            part,
            self.problem,
            self.inputs.get("d0"),
            columns,
            threads or self.inner,
        )

    def _unrounded(self) -> HostTensor:
        own = self.result.tensor
        dtype = DTYPES["f32" if self.dtype == np.float32 else "f64"]
        strides = tuple(prod(own.lengths[axis + 1 :]) for axis in range(len(own.lengths)))
        return HostTensor.empty(Tensor(own.name, dtype, own.layout, own.lengths, strides))


_F8 = frozenset(name for name, dtype in DTYPES.items() if dtype.is_float and dtype.bytes == 1)


def _as_matrix(host: HostTensor, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """[g][n * cells][channels] as a view, if the type is the GEMM's and channels lie side by side in even rows."""
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


def _fold(matrix: NDArray[Any], k: int) -> NDArray[Any]:
    """[g][k * taps][c] -> [g][k][taps * c]; a copy only if rows have a gap between them."""
    return matrix.reshape(matrix.shape[0], k, -1)
