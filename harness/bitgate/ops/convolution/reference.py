"""Both references of a convolution: an exact one, which BLAS computes in any order, and one in a stated order.

Each pass is one dense GEMM per chunk of images, beside two native steps that own all indices, types and layouts:
`gather` makes rows of window positions from an image, `scatter` sums columns into cells, applies the operation, rounds
once and stores. ::

    fwd         scatter(gather(x, window) @ w^T)
    bwd_data    scatter(dy @ w, window)            col2im: each tap's product is added where the tap points
    bwd_weight  store(sum over chunks of dy^T @ gather(x, window))

A chunk's columns fit the caches (a huge image is done some rows at a time); chunks run side by side, one BLAS thread
each, where there are enough of them.

The stated order is that of naive convolutions. From +0: filter taps row-major (z, y, x) outermost, then channels (c of
x for fwd, k of dy for bwd_data); bwd_weight: images outermost, then output positions row-major. Products that the
border cuts off are left out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype
from bitgate.model.form import Array
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import native
from bitgate.numerics.matrix import as_matrix, blas_threads
from bitgate.numerics.native import PartView, TensorView, WindowView
from bitgate.numerics.reference import unrounded
from bitgate.ops.convolution.form import window_of
from bitgate.ops.convolution.problem import ConvProblem, Pass

CHUNK_BYTES = 24 << 20
"""Columns of one chunk of images. Larger ones leave the caches, smaller ones make the GEMM's rows few."""

IMAGE_BYTES = 96 << 20
"""Columns of a single image above this are made a range of its rows at a time, at the price of rows computed twice."""

PARALLEL_FLOPS = 2e7
"""Below this a second thread costs more than it does."""


def write_exact(
    problem: ConvProblem, inputs: Mapping[str, HostTensor], result: HostTensor, dtype: np.dtype[Any], threads: int
) -> None:
    """Store the result of integers of which ``dtype`` holds every sum; ``inputs`` are the operands as they are
    multiplied, and d0."""
    with unrounded(result, dtype) as staging:
        _Computation(problem, inputs, staging, dtype, threads).run()


@dataclass(frozen=True)
class _Chunk:
    """Groups, images, and rows of the result's image (of y for bwd_weight) along the run's row axis."""

    groups: slice
    images: slice
    rows: slice

    @property
    def part(self) -> PartView:
        return PartView(self.groups.start, self.groups.stop, self.images.start, self.images.stop)

    @property
    def shape(self) -> tuple[int, int]:
        return self.groups.stop - self.groups.start, self.images.stop - self.images.start


def _chunks(groups: int, images: int, rows: int, bytes_each: int, threads: int) -> list[_Chunk]:
    """Return parts whose columns fit, and enough of them for the threads.

    ``bytes_each`` are the columns' bytes for a group of an image.
    """
    fit = max(1, CHUNK_BYTES // bytes_each)
    by_group = min(groups, fit)
    by_image = max(1, min(fit // by_group, -(-images // threads)))
    by_row = rows if bytes_each <= IMAGE_BYTES else max(1, rows * IMAGE_BYTES // bytes_each)
    steps = ((groups, by_group), (images, by_image), (rows, by_row))
    ranges = ([slice(at, min(at + step, end)) for at in range(0, end, step)] for end, step in steps)
    return [_Chunk(*part) for part in product(*ranges)]


class _Buffer:
    """Memory of one worker, reused from chunk to chunk so that its pages are touched once."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._flat = np.empty(0, dtype)

    def array(self, *shape: int) -> NDArray[Any]:
        count = prod(shape)
        if self._flat.size < count:
            self._flat = np.empty(count, self._flat.dtype)
        return self._flat[:count].reshape(shape)


class _Computation:
    """One reference computation. ``threads`` are split between chunks side by side and BLAS within each."""

    def __init__(
        self,
        problem: ConvProblem,
        inputs: Mapping[str, HostTensor],
        result: HostTensor,
        dtype: np.dtype[Any],
        threads: int,
    ) -> None:
        self.problem, self.inputs, self.result, self.dtype = problem, inputs, result, dtype
        self.threads = threads if problem.flops >= PARALLEL_FLOPS else 1
        self.window = window_of(problem)
        self.taps = prod(problem.filter)
        # The first axis of more than one cell: a range of its rows is one piece of a packed image.
        lengths = enumerate(zip(problem.input, problem.output, strict=True))
        self.row_axis = next((axis for axis, pair in lengths if max(pair) > 1), 0)
        row_sizes = problem.input if problem.direction is Pass.BWD_DATA else problem.output
        bytes_each = prod(problem.output) * self.taps * problem.c * dtype.itemsize
        self.chunks = _chunks(problem.g, problem.n, row_sizes[self.row_axis], bytes_each, self.threads)
        self.outer = min(self.threads, len(self.chunks))
        self.inner = max(1, self.threads // self.outer)

    def run(self) -> None:
        passes: dict[Pass, Callable[[], None]] = {
            Pass.FWD: self._fwd,
            Pass.BWD_DATA: self._bwd_data,
            Pass.BWD_WEIGHT: self._bwd_weight,
        }
        with blas_threads(self.inner):
            passes[self.problem.direction]()

    def _fwd(self) -> None:
        weights = self._weights().transpose(0, 2, 1)  # [g][taps * c][k]

        def work(chunk: _Chunk, columns: _Buffer, results: _Buffer) -> None:
            rows = self._window_rows(chunk, columns)
            out = results.array(*rows.shape[:2], self.problem.k)
            np.matmul(rows, weights[chunk.groups], out=out)
            window = WindowView.identity(self._cut(self.problem.output, chunk.rows))
            self._scatter(window, chunk.part, chunk.rows, out)

        self._spread(work)

    def _bwd_data(self) -> None:
        weights = self._weights()  # [g][k][taps * c]

        def work(chunk: _Chunk, columns: _Buffer, results: _Buffer) -> None:
            positions = self._positions_that_reach(chunk.rows)
            rows = self._image_rows("out", chunk, positions, columns)
            out = results.array(*rows.shape[:2], self.taps * self.problem.c)
            np.matmul(rows, weights[chunk.groups], out=out)
            window = self.window.cut(self._native_axis, positions, chunk.rows.start)
            self._scatter(window, chunk.part, chunk.rows, out)

        self._spread(work)

    def _bwd_weight(self) -> None:
        p = self.problem
        sums = np.zeros((p.g, p.k, self.taps * p.c), self.dtype)
        lock = threading.Lock()

        def work(chunk: _Chunk, columns: _Buffer, results: _Buffer) -> None:
            factors = _Buffer(self.dtype)
            rows = self._image_rows("out", chunk, chunk.rows, factors).transpose(0, 2, 1)
            out = results.array(chunk.shape[0], p.k, self.taps * p.c)
            np.matmul(rows, self._window_rows(chunk, columns), out=out)
            with lock:
                sums[chunk.groups] += out

        self._spread(work)
        everything = PartView(0, p.g, 0, p.k)
        self._scatter(WindowView.identity(p.filter), everything, slice(0, p.filter[self.row_axis]), sums, self.threads)

    def _spread(self, work: Callable[[_Chunk, _Buffer, _Buffer], None]) -> None:
        waiting = list(reversed(self.chunks))

        def worker() -> None:
            columns, results = _Buffer(self.dtype), _Buffer(self.dtype)
            while True:
                try:
                    chunk = waiting.pop()
                except IndexError:
                    return
                work(chunk, columns, results)

        if self.outer == 1:
            worker()
            return
        with ThreadPoolExecutor(self.outer) as pool:
            for done in [pool.submit(worker) for _ in range(self.outer)]:
                done.result()

    def _weights(self) -> NDArray[Any]:
        """Return [g][k][taps * c]: weights read as images of the filter's size, k counting them."""
        p, host = self.problem, self.inputs["wei"]
        matrix = as_matrix(host, self.dtype)
        if matrix is None:
            matrix = np.empty((p.g, p.k * self.taps, p.c), self.dtype)
            everything = PartView(0, p.g, 0, p.k)
            native.gather(TensorView.of(host), WindowView.identity(p.filter), everything, matrix, self.threads)
        return _fold(matrix, p.k)

    def _image_rows(self, name: str, chunk: _Chunk, rows: slice, buffer: _Buffer) -> NDArray[Any]:
        """Return [g][cells][channels] of rows of a chunk's images, in place if they are in memory like that."""
        host = self.inputs[name]
        size = host.tensor.lengths[3:]
        cut = self._cut(size, rows)
        matrix = as_matrix(host, self.dtype)
        if matrix is not None:
            # Either whole images, or rows of a single one.
            first = chunk.images.start * prod(size) + rows.start * prod(size[self.row_axis + 1 :])
            return matrix[chunk.groups, first : first + chunk.shape[1] * prod(cut)]
        g, n = chunk.shape
        packed = buffer.array(g, n * prod(cut), host.tensor.lengths[2])
        image = TensorView.rows(host, 3 + self.row_axis, rows)
        native.gather(image, WindowView.identity(cut), chunk.part, packed, self.inner)
        return packed

    def _window_rows(self, chunk: _Chunk, buffer: _Buffer) -> NDArray[Any]:
        """Return [g][positions][taps * c] of x under the filter."""
        p = self.problem
        if p.output == p.input and self.taps == 1 and not any(p.left_pad) and not p.strided:
            return self._image_rows("in", chunk, chunk.rows, buffer)
        g, n = chunk.shape
        rows = buffer.array(g, n * prod(self._cut(p.output, chunk.rows)), self.taps * p.c)
        window = self.window.cut(self._native_axis, chunk.rows, 0)
        native.gather(TensorView.of(self.inputs["in"]), window, chunk.part, rows, self.inner)
        return rows

    def _scatter(
        self, window: WindowView, part: PartView, rows: slice, columns: NDArray[Any], threads: int | None = None
    ) -> None:
        axis, d = 3 + self.row_axis, self.inputs.get("d0")
        native.scatter(
            TensorView.rows(self.result, axis, rows),
            window,
            part,
            self.problem.op,
            None if d is None else TensorView.rows(d, axis, rows),
            columns,
            threads or self.inner,
        )

    def _positions_that_reach(self, rows: slice) -> slice:
        """Return output positions, along the row axis, whose window touches these rows of the image; at least one.

        For a whole image these are all, so that several whole images form one matrix.
        """
        p, a = self.problem, self.row_axis
        if rows.stop - rows.start == p.input[a]:
            return slice(0, p.output[a])
        reach = (p.filter[a] - 1) * p.dilation[a]
        first = -(-(rows.start + p.left_pad[a] - reach) // p.stride[a])
        last = (rows.stop - 1 + p.left_pad[a]) // p.stride[a]
        end = p.output[a]
        start = min(max(first, 0), end - 1)
        return slice(start, max(start + 1, min(last + 1, end)))

    def _cut(self, size: tuple[int, ...], rows: slice) -> tuple[int, ...]:
        """Return ``size`` with only these rows."""
        return (*size[: self.row_axis], rows.stop - rows.start, *size[self.row_axis + 1 :])

    @property
    def _native_axis(self) -> int:
        """The row axis among the three of native windows."""
        return 3 - self.problem.ndim + self.row_axis


def _fold(matrix: NDArray[Any], k: int) -> NDArray[Any]:
    """Reshape [g][k * taps][c] to [g][k][taps * c]; a copy only if rows have a gap between them."""
    return matrix.reshape(matrix.shape[0], k, -1)


def ordered_sums(problem: ConvProblem, arrays: Mapping[str, Array], accumulator: Dtype, threads: int) -> Array:
    """Return the sums of ``native/ordered.cpp``; operands and result are in logical order."""
    packed = {name: _channels_last(arrays[name], accumulator.numpy) for name in problem.operands}
    g, n, k, c = problem.g, problem.n, problem.k, problem.c
    taps = problem.filter
    shape: tuple[int, ...]
    if problem.direction is Pass.FWD:
        weights = packed["wei"].reshape(g, k, -1, c).transpose(0, 2, 3, 1)  # [g][tap][c][k]
        first, second, shape = packed["in"], weights, (g, n, *problem.output, k)
    elif problem.direction is Pass.BWD_DATA:
        weights = packed["wei"].reshape(g, k, -1, c).transpose(0, 2, 1, 3)  # [g][tap][k][c]
        first, second, shape = packed["out"], weights, (g, n, *problem.input, c)
    else:
        first, second, shape = packed["in"], packed["out"], (g, k, *taps, c)
    found = np.zeros(shape, accumulator.numpy)
    native.ordered(
        (g, n, k, c, *(1,) * (3 - problem.ndim), *problem.input),
        window_of(problem),
        problem.direction.code,
        accumulator,
        np.ascontiguousarray(first),
        np.ascontiguousarray(second),
        found,
        threads,
    )
    return np.moveaxis(found, -1, 2)


def _channels_last(cells: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return np.ascontiguousarray(np.moveaxis(cells, 2, -1).astype(dtype))
