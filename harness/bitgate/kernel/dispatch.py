"""What a library says really ran: the dispatch record, copied out of the C structures."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from ctypes import string_at
from dataclasses import dataclass
from typing import Any

from bitgate.kernel.abi import CDispatchRecord, EventKind

MAIN_LOOPS = ("", "all", "none", "mixed")
"""By the value of ``enum bitgate_main_loop``."""

TRANSPOSES = frozenset({"transpose_in", "transpose_out"})
"""Names of the launches that bring a tensor to the layout of the kernel, and its result back."""


@dataclass(frozen=True, slots=True)
class SubGemmRecord:
    """One member of the bwd_data decomposition as the library saw it; tuples have one entry a spatial dimension."""

    index: int
    bucket: int
    launched: bool
    main_loop: bool
    tilde: tuple[int, ...]
    taps: tuple[int, ...]
    slice_begin: tuple[int, ...]
    slice_length: tuple[int, ...]
    m: int
    n: int
    k: int
    first_block: int
    blocks: int


@dataclass(frozen=True)
class LaunchEvent:
    """One kernel launch, memset or copy. ``args`` are (offset, size, is_pointer) into ``kernargs``; sizes in bytes.

    ``address``, ``source`` and ``bytes`` belong to memsets (source: the value) and copies; ``function`` and
    ``launcher`` to kernels: addresses in the library (``abi.h``).
    """

    kind: EventKind
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lds_bytes: int
    wave_size: int
    args: tuple[tuple[int, int, bool], ...]
    kernargs: bytes
    address: int
    source: int
    bytes: int
    function: int = 0
    launcher: int = 0


@dataclass(frozen=True)
class DispatchRecord:
    """``launches`` counts kernels without the zero-fill and the transposes; ``split_k`` is resolved;
    ``split_n`` counts image chunks.

    ``main_loop``: do the K loops run more than one step, in ``all`` tiles, in ``none``, or in some (``mixed``)? Empty
    where the kernel does not tell. ``lost_events`` had no room in the record.
    """

    path: str
    gemms_count: int
    buckets: int
    launches: int
    split_k: int
    split_n: int
    zero_fill: bool
    workspace_bytes: int
    instance: str
    main_loop: str
    sub_gemms: tuple[SubGemmRecord, ...]
    events: tuple[LaunchEvent, ...]
    lost_events: int = 0

    @property
    def launched(self) -> tuple[int, ...]:
        """Indices of the sub-GEMMs that some launch covered."""
        return tuple(gemm.index for gemm in self.sub_gemms if gemm.launched)

    @property
    def transposes(self) -> int:
        """Copies between a tensor's layout and the workspace's."""
        return sum(event.name in TRANSPOSES for event in self.events)

    def summary(self) -> dict[str, Any]:
        """For the results line: the counts, and the launched sub-GEMMs as ``0-8`` or ``0,32``."""
        return {
            "path": self.path,
            "gemms_count": self.gemms_count,
            "launches": self.launches,
            "buckets": self.buckets,
            "split_k": self.split_k,
            "split_n": self.split_n,
            "zero_fill": self.zero_fill,
            "main_loop": self.main_loop,
            "transposes": self.transposes,
            "workspace_bytes": self.workspace_bytes,
            "launched": spans(self.launched),
        }


def spans(indices: Iterable[int]) -> str:
    """Ascending integers in words: ``0-3,7``."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def from_c(record: CDispatchRecord, ndim: int) -> DispatchRecord:
    """Copy a filled record. Entries beyond the stated capacities were cut by the library and are not read."""
    return DispatchRecord(
        path=_text(record.path),
        gemms_count=record.gemms_count,
        buckets=record.buckets,
        launches=record.launches,
        split_k=record.split_k,
        split_n=record.split_n,
        zero_fill=bool(record.zero_fill),
        workspace_bytes=record.workspace_bytes,
        instance=_text(record.instance),
        main_loop=MAIN_LOOPS[record.main_loop],
        sub_gemms=_sub_gemms(record, ndim),
        events=tuple(_event(record, record.events[i]) for i in range(min(record.event_count, record.event_capacity))),
        lost_events=max(0, record.event_count - record.event_capacity),
    )


_SUB_GEMM = struct.Struct("=10i11q")
"""``bitgate_sub_gemm`` in one go: four flags and two int32 triples, three int64 triples and two counts."""


def _sub_gemms(record: CDispatchRecord, ndim: int) -> tuple[SubGemmRecord, ...]:
    count = min(record.sub_gemm_count, record.sub_gemm_capacity)
    if count == 0:
        return ()
    data = string_at(record.sub_gemms, count * _SUB_GEMM.size)
    return tuple(
        SubGemmRecord(
            f[0],
            f[1],
            f[2] != 0,
            f[3] != 0,
            f[4 : 4 + ndim],
            f[7 : 7 + ndim],
            f[10 : 10 + ndim],
            f[13 : 13 + ndim],
            *f[16:],
        )
        for f in _SUB_GEMM.iter_unpack(data)
    )


def _event(record: CDispatchRecord, event: Any) -> LaunchEvent:
    begin, size = event.kernarg_offset, event.kernarg_bytes
    stored = size > 0 and begin + size <= min(record.kernarg_count, record.kernarg_capacity)
    return LaunchEvent(
        kind=EventKind(event.kind),
        name=_text(event.name),
        grid=tuple(event.grid),
        block=tuple(event.block),
        lds_bytes=event.lds_bytes,
        wave_size=event.wave_size,
        args=tuple((arg.offset, arg.size, bool(arg.kind)) for arg in event.args[: event.arg_count]),
        kernargs=bytes(record.kernargs[begin : begin + size]) if stored else b"",
        address=event.address,
        source=event.source,
        bytes=event.bytes,
        function=event.function,
        launcher=event.launcher,
    )


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
