"""The C interface of the device tools (kernels/device_tools) in ctypes, and batches of work for them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from ctypes import CDLL, POINTER, Structure, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

from bitgate.core.project import harness_kernels
from bitgate.kernel.declaration import KernelFamily
from bitgate.model import Tensor
from bitgate.runtime.buffers import CANARY

MAX_AXES = 6
MAX_ZONES = 32
MAX_FILLS = 8
MAX_DIGESTS = 12


def family() -> KernelFamily:
    """Return the tools as something to build: sources without instances."""
    folder = harness_kernels() / "device_tools"
    return KernelFamily(
        name="device_tools",
        operations=(),
        sources=("fill.hip.cpp", "sums.hip.cpp", "compare.hip.cpp", "hold.hip.cpp"),
        folder=folder,
        platforms=("host", "amd", "nvidia"),
        instances=(),
    )


class CAxis(Structure):
    """One axis: its length, and its steps in memory and in logical order, in elements."""

    _fields_ = (("length", c_int64), ("stride", c_int64), ("logical", c_int64))


class Cells(Structure):
    """The C structure ``Cells`` of kernels/device_tools/cells.hpp."""

    _fields_ = (
        ("axis", CAxis * MAX_AXES),
        ("count", c_int64),
        ("rank", c_int32),
        ("element_bytes", c_int32),
        ("dtype", c_int32),
        ("reserved", c_int32),
    )


@lru_cache(maxsize=1024)
def cells_of(tensor: Tensor) -> Cells:
    """Return every cell once; a broadcast axis (stride 0) counts as index 0. Raises ValueError if cells overlap."""
    return _cells(tensor, _axes(tensor))


@lru_cache(maxsize=1024)
def memory_of(tensor: Tensor) -> Cells:
    """Return the tensor's whole memory, padding included, as one row."""
    return _cells(tensor, [(tensor.space, 1, 1)])


@lru_cache(maxsize=1024)
def cell_bytes(tensor: Tensor) -> bytes:
    """Return the bytes of ``cells_of`` in C's layout."""
    return bytes(cells_of(tensor))


@lru_cache(maxsize=1024)
def memory_bytes(tensor: Tensor) -> bytes:
    """Return the bytes of ``memory_of`` in C's layout."""
    return bytes(memory_of(tensor))


def _cells(tensor: Tensor, axes: list[tuple[int, int, int]]) -> Cells:
    count = prod(length for length, _, _ in axes)
    cells = Cells(count=count, rank=len(axes), element_bytes=tensor.dtype.bytes, dtype=tensor.dtype.code)
    for place, axis in enumerate(axes):
        cells.axis[place] = CAxis(*axis)
    return cells


def _axes(tensor: Tensor) -> list[tuple[int, int, int]]:
    """Return (length, stride, logical step), fastest in memory first; axes that continue each other are one."""
    steps = [prod(tensor.lengths[axis + 1 :]) for axis in range(len(tensor.lengths))]
    every = zip(tensor.lengths, tensor.strides, steps, strict=True)
    axes: list[tuple[int, int, int]] = []
    reach = 0
    for length, stride, step in sorted((a for a in every if a[0] > 1 and a[1] > 0), key=lambda axis: axis[1]):
        if stride <= reach:
            raise ValueError(f"tensor '{tensor.name}' with strides {tensor.strides} has overlapping cells")
        reach += (length - 1) * stride
        if axes and stride == axes[-1][0] * axes[-1][1] and step == axes[-1][0] * axes[-1][2]:
            axes[-1] = (axes[-1][0] * length, axes[-1][1], axes[-1][2])
        else:
            axes.append((length, stride, step))
    return axes


class CWeights(Structure):
    """The C structure ``Weights`` of kernels/device_tools/sums.hip.cpp: the weight of a cell in a checksum."""

    _fields_ = (
        ("rows", c_int64),
        ("channels", c_int64),
        ("spatial", c_int64),
        ("channel_stream", c_uint64),
        ("place_stream", c_uint64),
        ("range", c_uint32),
        ("reserved", c_uint32),
    )


_CELLS = 8 * (3 * MAX_AXES + 3)
"""Bytes of ``Cells``."""

POINTER_FIRST = struct.Struct("=Q")
"""The address of the data of a fill or a digest: their first field; the others are the same for every launch."""

FILL = struct.Struct(f"={_CELLS}sQQQIi")
"""The rest of ``Fill`` of kernels/device_tools/fill.hip.cpp: cells, patterns, stream, keep, range, kind."""
INTEGERS, REALS, CONSTANT = range(3)

DIGEST = struct.Struct(f"=Q{_CELLS}sQQ")
"""``Digest`` of kernels/device_tools/sums.hip.cpp: data, cells, first, answers."""

ZONE = struct.Struct("=QQ")
"""``Zone`` of kernels/device_tools/zones.hpp: address and bytes."""


def zones_of(ranges: Iterable[tuple[int, int]]) -> tuple[bytes, int]:
    """Return the (begin, end) that are not empty as an array of ``Zone``, and their number.

    Raises ValueError if they are too many for one launch.
    """
    every = [ZONE.pack(begin, end - begin) for begin, end in ranges if end > begin]
    if len(every) > MAX_ZONES:
        raise ValueError(f"{len(every)} guard zones, at most {MAX_ZONES} are checked in one launch")
    return b"".join(every), len(every)


_P, _C = c_void_p, POINTER(Cells)
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "fill_integers": (_P, _C, c_uint64, c_uint32, c_uint64, _P, _P),
    "fill_reals": (_P, _C, c_uint64, _P),
    "fill_bits": (_P, _C, c_uint64, _P),
    "digest": (_P, _C, c_uint64, _P, _P),
    "weighted_sum": (_P, _P, _C, POINTER(CWeights), _P, _P),
    "differences": (_P, _P, _P, _C, c_int64, _P, _P),
    "gaps": (_P, _C, c_int64, c_int64, _P, _P),
    "hold": (c_int64, _P),
    "guard": (_P, c_int32, c_uint32, _P),
    "zones": (_P, c_int32, c_uint32, _P, _P),
    "fills": (_P, c_int32, _P, c_int32, c_uint32, _P),
    "digests": (_P, c_int32, _P, c_int32, c_uint32, _P, _P),
}


def load(path: Path) -> dict[str, Any]:
    """Return the entry points by name; each starts work on a stream and returns a ``hipError_t``."""
    library = CDLL(str(path))
    entries: dict[str, Any] = {}
    for name, arguments in _ARGUMENTS.items():
        entry = getattr(library, f"bitgate_tools_{name}")
        entry.restype, entry.argtypes = c_int32, arguments
        entries[name] = entry
    return entries


SMALL_TENSOR = 1 << 18
"""Elements; a larger tensor has a separate launch, since it keeps all its blocks busy."""

NO_ZONES = (b"", 0)


class ToolBatch:
    """Work for the tools, which ``call`` starts by name: a launch costs more than the work on a small tensor. In a
    ``with`` it is kept, and started at its end: fills and guards, then questions. Outside of one every call is made at
    once."""

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call
        self.is_open = False
        self._forget()

    def _forget(self) -> None:
        self._fills: list[bytes] = []
        self._guard = self._look = NO_ZONES
        self._damage = 0
        self._digests: list[bytes] = []
        self._calls: list[tuple[object, ...]] = []

    def __enter__(self) -> None:
        self.is_open = True

    def __exit__(self, kind: object, *_: object) -> None:
        self.is_open = False
        if kind is None:
            self._start()
        self._forget()

    def fill(self, data: int, request: bytes) -> None:
        """Add a small tensor at an address; ``request`` is packed by ``FILL``."""
        self._fills.append(POINTER_FIRST.pack(data) + request)

    def guard(self, zones: bytes, count: int) -> None:
        """Add these guard zones, the only ones, to be made."""
        self._guard = zones, count

    def look(self, zones: bytes, count: int, answer: int) -> None:
        """Add these guard zones, the only ones, to be checked for writes."""
        self._look, self._damage = (zones, count), answer

    def digest(self, data: int, cells: bytes, first: int, answers: int) -> None:
        self._digests.append(DIGEST.pack(data, cells, first, answers))

    def call(self, *call: object) -> None:
        """Add any other question, by name and arguments."""
        if self.is_open:
            self._calls.append(call)
        else:
            self._call(*call)

    def _start(self) -> None:
        zones, count = self._guard
        for some in _parts(self._fills, MAX_FILLS, count):
            self._call("fills", b"".join(some), len(some), zones, count, CANARY)
            zones, count = NO_ZONES
        for call in self._calls:
            self._call(*call)
        zones, count = self._look
        for some in _parts(self._digests, MAX_DIGESTS, count):
            self._call("digests", b"".join(some), len(some), zones, count, CANARY, self._damage)
            zones, count = NO_ZONES


def _parts(every: list[bytes], most: int, zones: int) -> list[list[bytes]]:
    """Return parts of at most ``most`` items; an empty one for zones alone."""
    return [every[at : at + most] for at in range(0, len(every), most)] or [[]] * bool(zones)
