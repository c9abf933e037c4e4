"""What a library says really ran: the dispatch record, copied out of the C structures."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from ctypes import string_at
from dataclasses import dataclass
from typing import Any

from bitgate.kernel.abi import CDispatchRecord, EventKind, Value, values_of

TRANSPOSES = frozenset({"transpose_in", "transpose_out"})
"""Names of the launches that bring a tensor to the layout of the kernel, and its result back."""


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
    """``launches`` counts kernels without the zero-fill and the transposes. ``facts`` are what the family says beside,
    by name: ``split_k`` (resolved), ``split_n`` (chunks of images), ``main_loop`` (do the K loops run more than one
    step: in ``all`` tiles, in ``none``, or in some, ``mixed``) ...

    ``parts`` are rows of integers, one a part that the problem was computed in; ``part_columns`` names them.
    ``lost_events`` had no room in the record.
    """

    path: str
    launches: int
    zero_fill: bool
    workspace_bytes: int
    instance: str
    facts: Mapping[str, Value]
    part_columns: tuple[str, ...]
    parts: tuple[tuple[int, ...], ...]
    events: tuple[LaunchEvent, ...]
    lost_events: int = 0

    @property
    def launched(self) -> tuple[int, ...]:
        """Indices of the parts that some launch covered, where the record tells."""
        if not {"index", "launched"} <= set(self.part_columns):
            return ()
        index, launched = (self.part_columns.index(name) for name in ("index", "launched"))
        return tuple(part[index] for part in self.parts if part[launched])

    @property
    def transposes(self) -> int:
        """Copies between a tensor's layout and the workspace's."""
        return sum(event.name in TRANSPOSES for event in self.events)

    def summary(self) -> dict[str, Any]:
        """For the results line: fields and facts, and the launched parts as ``0-8`` or ``0,32``."""
        return {
            **self.facts,
            "path": self.path,
            "launches": self.launches,
            "zero_fill": self.zero_fill,
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


def from_c(record: CDispatchRecord) -> DispatchRecord:
    """Copy a filled record. Entries beyond the stated capacities were cut by the library and are not read. ValueError
    if the record contradicts abi.h."""
    columns, parts = _parts(record)
    return DispatchRecord(
        path=_text(record.path),
        launches=record.launches,
        zero_fill=bool(record.zero_fill),
        workspace_bytes=record.workspace_bytes,
        instance=_text(record.instance),
        facts=values_of(record.facts, min(record.fact_count, record.fact_capacity)),
        part_columns=columns,
        parts=parts,
        events=tuple(_event(record, record.events[i]) for i in range(min(record.event_count, record.event_capacity))),
        lost_events=max(0, record.event_count - record.event_capacity),
    )


def _parts(record: CDispatchRecord) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    if record.part_count == 0:
        return (), ()
    columns = tuple(_text(record.part_columns or b"").split(","))
    row = struct.Struct(f"={len(columns)}q")
    count = min(record.part_count, record.part_capacity // len(columns))
    return columns, tuple(row.iter_unpack(string_at(record.parts, count * row.size)))


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
