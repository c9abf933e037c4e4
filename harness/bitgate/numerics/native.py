"""The library libbitgate_native: fast C++ versions of this package's numpy definitions, loaded at first use."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, byref, c_double, c_float, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core import paths
from bitgate.kernel.build.builder import Builder
from bitgate.model import DTYPES, Dtype, Elementwise, Tensor
from bitgate.model.host_tensor import HostTensor
from bitgate.model.numerics import Measure

MAX_RANK = 6


class TensorView(Structure):
    """The C structure ``Tensor`` of native/tensor.hpp."""

    _fields_ = (
        ("data", c_void_p),
        ("dtype", c_int32),
        ("element_bytes", c_int32),
        ("rank", c_int32),
        ("reserved", c_int32),
        ("lengths", c_int64 * MAX_RANK),
        ("strides", c_int64 * MAX_RANK),
    )

    @classmethod
    def of(cls, host: HostTensor) -> TensorView:
        return cls.at(host.storage.ctypes.data, host.tensor)

    @classmethod
    def at(cls, address: int, tensor: Tensor) -> TensorView:
        """Return the tensor at an address of this process."""
        view = cls.from_buffer_copy(_blank_view(tensor))
        view.data = address
        return view

    @classmethod
    def rows(cls, host: HostTensor, axis: int, rows: slice) -> TensorView:
        """Return part of a tensor along one logical axis."""
        view = cls.of(host)
        view.data += rows.start * view.strides[axis] * view.element_bytes
        view.lengths[axis] = rows.stop - rows.start
        return view


@lru_cache(maxsize=256)
def _blank_view(tensor: Tensor) -> TensorView:
    rank = len(tensor.lengths)
    view = TensorView(0, tensor.dtype.code, tensor.dtype.bytes, rank)
    view.lengths[:rank] = tensor.lengths
    view.strides[:rank] = tensor.strides
    return view


class WindowView(Structure):
    """The C structure ``Window`` of native/window.hpp: always three axes."""

    _fields_ = tuple((name, c_int64 * 3) for name in ("positions", "filter", "stride", "dilation", "pad"))

    def cut(self, axis: int, positions: slice, first_cell: int) -> WindowView:
        """Return the window for some positions of an axis, over an image that begins at ``first_cell`` of it."""
        window = WindowView.from_buffer_copy(self)
        window.positions[axis] = positions.stop - positions.start
        window.pad[axis] += first_cell - positions.start * window.stride[axis]
        return window

    @classmethod
    def identity(cls, size: tuple[int, ...]) -> WindowView:
        """Return a filter of one cell at stride 1: columns are the image itself."""
        ones = (1, 1, 1)
        return cls(ones[: 3 - len(size)] + size, ones, ones, ones, (0, 0, 0))


class PartView(Structure):
    """The C structure ``Part`` of native/window.hpp: ranges of groups and images."""

    _fields_ = tuple((name, c_int64) for name in ("group_begin", "group_end", "image_begin", "image_end"))


_T, _W, _P, _F = POINTER(TensorView), POINTER(WindowView), POINTER(PartView), POINTER(c_float)
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "bitgate_fill_integers": (None, (_T, c_uint64, c_uint32, c_uint64, c_void_p, c_int32)),
    "bitgate_fill_reals": (c_int32, (_T, c_uint64, c_int32)),
    "bitgate_digest_sums": (None, (_T, c_uint64, POINTER(c_uint64), c_int32)),
    "bitgate_differences": (None, (_T, _T, POINTER(c_int64), POINTER(c_int64), c_int32)),
    "bitgate_measure": (
        None,
        (_T, POINTER(c_int32), c_void_p, c_int64, _F, POINTER(c_double), POINTER(c_int64), POINTER(c_int64), c_int32),
    ),
    "bitgate_gather": (None, (_T, _W, _P, _F, c_int32, c_void_p, c_int32)),
    "bitgate_scatter": (
        c_int32,
        (_T, _W, _P, c_int32, c_double, c_double, _T, _F, c_int32, c_void_p, c_int32),
    ),
    "bitgate_ordered": (
        None,
        (POINTER(c_int64), _W, c_int32, c_int32, c_void_p, c_void_p, c_void_p, c_int32),
    ),
    "bitgate_process_state": (c_int64, (c_void_p, c_int64)),
    "bitgate_process_state_holds": (c_int32, ()),
    "bitgate_timed_calls": (c_int32, (c_void_p, c_int64)),
    "bitgate_ordered_op": (None, (c_int32, c_double, c_double, c_int32, c_void_p, c_void_p, c_int64, c_int32)),
}


@lru_cache(maxsize=1)
def library() -> Callable[..., Any]:
    """Return the loaded library as a function: ``library()(name)`` is the entry point with its types set."""
    loaded = ctypes.CDLL(str(Builder().native()))
    entries: dict[str, Any] = {}
    for name, (result, arguments) in _SIGNATURES.items():
        entry = getattr(loaded, name)
        entry.restype, entry.argtypes = result, arguments
        entries[name] = entry
    return entries.__getitem__


@lru_cache(maxsize=1)
def _byte_values() -> dict[int, NDArray[np.float32]]:
    """Return the 256 values of each one-byte type, by its code: native code reads i8 and the f8 types by them."""
    patterns = np.arange(256, dtype=np.uint8)
    return {t.code: patterns.view(t.numpy).astype(np.float32) for t in DTYPES.values() if t.bytes == 1}


def _table(code: int) -> Any:
    values = _byte_values().get(code)
    return None if values is None else values.ctypes.data_as(_F)


WORTH_A_THREAD = 1 << 16
"""Elements, as in native/parallel.hpp: a smaller tensor gets one thread, however many are allowed."""


def _threads(threads: int | None, tensor: Tensor) -> int:
    if threads is None:
        return paths.threads() if tensor.elements > WORTH_A_THREAD else 1
    return threads


def fill_integers(
    host: HostTensor, stream: int, range_: int, keep: int, table: NDArray[Any], threads: int | None = None
) -> None:
    """Fill with ``counter.integers``; ``table`` holds -range .. range in the tensor's dtype (used up to 2 bytes)."""
    library()("bitgate_fill_integers")(
        byref(TensorView.of(host)), stream, range_, keep, table.ctypes.data, _threads(threads, host.tensor)
    )


def fill_reals(host: HostTensor, stream: int, threads: int | None = None) -> bool:
    """Fill with ``counter.real32`` or ``real64``; False if the dtype has to be rounded in Python."""
    return bool(library()("bitgate_fill_reals")(byref(TensorView.of(host)), stream, _threads(threads, host.tensor)))


def digest_sums(host: HostTensor, first: int = 0, threads: int | None = None) -> tuple[int, int]:
    """Return ``counter.digest_sums`` of a whole tensor, which may itself be a block that starts at index ``first``."""
    return digest_sums_at(host.storage.ctypes.data, host.tensor, first, threads)


def digest_sums_at(address: int, tensor: Tensor, first: int = 0, threads: int | None = None) -> tuple[int, int]:
    """Return the digest sums of a tensor at an address of this process."""
    sums = (c_uint64 * 2)()
    library()("bitgate_digest_sums")(byref(TensorView.at(address, tensor)), first, sums, _threads(threads, tensor))
    return sums[0], sums[1]


@dataclass(frozen=True)
class Differences:
    """The number of elements whose bits differ, and the least flat logical index among them (-1 if none)."""

    count: int
    first: int


def differences(a: HostTensor, b: HostTensor, threads: int | None = None) -> Differences:
    """Compare bit for bit; strides may differ. Raises ValueError if lengths or dtypes do."""
    if (a.tensor.lengths, a.tensor.dtype) != (b.tensor.lengths, b.tensor.dtype):
        raise ValueError(
            f"cannot compare {a.tensor.dtype}{list(a.tensor.lengths)} with {b.tensor.dtype}{list(b.tensor.lengths)}"
        )
    count, first = c_int64(), c_int64()
    library()("bitgate_differences")(
        byref(TensorView.of(a)), byref(TensorView.of(b)), byref(count), byref(first), _threads(threads, a.tensor)
    )
    return Differences(count.value, first.value)


def count_differences(a: HostTensor, b: HostTensor, threads: int | None = None) -> int:
    return differences(a, b, threads).count


def measure(host: HostTensor, keep: tuple[int, ...] = (), threads: int | None = None) -> Measure:
    """Measure a tensor in one pass; ``keep`` names the logical axes that the sums keep; none gives no sums."""
    tensor = host.tensor
    flags = (c_int32 * MAX_RANK)(*(int(axis in keep) for axis in range(len(tensor.lengths))))
    sums = np.zeros(tuple(tensor.lengths[axis] for axis in keep) if keep else (0,), np.float64)
    largest, nonzeros, fractions = c_double(), c_int64(), c_int64()
    library()("bitgate_measure")(
        byref(TensorView.of(host)),
        flags,
        sums.ctypes.data,
        sums.size,
        _table(tensor.dtype.code),
        byref(largest),
        byref(nonzeros),
        byref(fractions),
        _threads(threads, tensor),
    )
    return Measure(largest.value, nonzeros.value, fractions.value, sums)


def gather(image: TensorView, window: WindowView, part: PartView, columns: NDArray[Any], threads: int) -> None:
    """Copy window positions as rows into ``columns`` [g][n][positions][taps][channels], f32 or f64 and contiguous."""
    library()("bitgate_gather")(
        byref(image),
        byref(window),
        byref(part),
        _table(image.dtype),
        columns.dtype == np.float64,
        columns.ctypes.data,
        threads,
    )


def scatter(
    image: TensorView,
    window: WindowView,
    part: PartView,
    op: Elementwise,
    d: TensorView | None,
    columns: NDArray[Any],
    threads: int,
) -> None:
    """Sum columns into cells, apply ``op``, round once, store. ``image`` may have any type but f8."""
    stored = library()("bitgate_scatter")(
        byref(image),
        byref(window),
        byref(part),
        op.code,
        op.alpha,
        op.beta,
        None if d is None else byref(d),
        None if d is None else _table(d.dtype),
        columns.dtype == np.float64,
        columns.ctypes.data,
        threads,
    )
    if not stored:
        raise ValueError(f"dtype code {image.dtype} is rounded in Python, not by the native library")


def ordered(
    sizes: tuple[int, ...],
    window: WindowView,
    operation: int,
    accumulator: Dtype,
    first: NDArray[Any],
    second: NDArray[Any],
    result: NDArray[Any],
    threads: int,
) -> None:
    """Compute the sums of native/ordered.cpp, which states the packed shapes."""
    library()("bitgate_ordered")(
        (c_int64 * 7)(*sizes),
        byref(window),
        operation,
        accumulator.code,
        first.ctypes.data,
        second.ctypes.data,
        result.ctypes.data,
        threads,
    )


def ordered_op(op: Elementwise, values: NDArray[Any], d: NDArray[Any] | None, threads: int) -> None:
    """Compute ``values = op(values, d)`` in place, in the type of the two arrays: f32 or f64."""
    library()("bitgate_ordered_op")(
        op.code,
        op.alpha,
        op.beta,
        values.dtype == np.float64,
        values.ctypes.data,
        None if d is None else d.ctypes.data,
        values.size,
        threads,
    )


__all__ = [
    "Differences",
    "Measure",
    "PartView",
    "TensorView",
    "WindowView",
    "count_differences",
    "differences",
    "digest_sums",
    "digest_sums_at",
    "fill_integers",
    "fill_reals",
    "gather",
    "measure",
    "ordered",
    "ordered_op",
    "scatter",
]
