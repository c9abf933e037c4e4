"""What a library says really ran: the dispatch record, copied out of the C structures."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from ctypes import addressof, sizeof, string_at
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from msgspec import Struct

from bitgate.kernel.abi import MAX_ARGS, NAME_BYTES, CDispatchRecord, CLaunch, EventKind, Value, values_of

_EVENT = struct.Struct(f"@2i{NAME_BYTES}s6IQ2IQ{3 * MAX_ARGS}I5Q")
"""``bitgate_launch`` of abi.h, field by field: aligned as C aligns it."""
assert _EVENT.size == sizeof(CLaunch)

TRANSPOSES = frozenset({"transpose_in", "transpose_out"})
"""Names of the launches that bring a tensor to the layout of the kernel, and its result back."""


class LaunchEvent(Struct, frozen=True):
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
        events=tuple(_events(record)),
        lost_events=max(0, record.event_count - record.event_capacity),
    )


def _parts(record: CDispatchRecord) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    if record.part_count == 0:
        return (), ()
    columns = tuple(_text(record.part_columns or b"").split(","))
    row = struct.Struct(f"={len(columns)}q")
    count = min(record.part_count, record.part_capacity // len(columns))
    return columns, tuple(row.iter_unpack(string_at(record.parts, count * row.size)))


def _events(record: CDispatchRecord) -> Iterator[LaunchEvent]:
    """Read as bytes: ctypes makes an object of each field that is looked at."""
    count = min(record.event_count, record.event_capacity)
    stored = min(record.kernarg_count, record.kernarg_capacity)
    for fields in _EVENT.iter_unpack(string_at(record.events, count * _EVENT.size)) if count else ():
        kind, wave_size, name, *grid_and_block, lds_bytes, arg_count, size, begin = fields[:13]
        args = fields[13 : 13 + 3 * min(arg_count, MAX_ARGS)]
        address, source, length, function, launcher = fields[-5:]
        kept = size > 0 and begin + size <= stored
        yield LaunchEvent(
            kind=_kind(kind),
            name=_name(name),
            grid=tuple(grid_and_block[:3]),
            block=tuple(grid_and_block[3:]),
            lds_bytes=lds_bytes,
            wave_size=wave_size,
            args=tuple((args[i], args[i + 1], bool(args[i + 2])) for i in range(0, len(args), 3)),
            kernargs=string_at(addressof(record.kernargs.contents) + begin, size) if kept else b"",
            address=address,
            source=source,
            bytes=length,
            function=function,
            launcher=launcher,
        )


@lru_cache(maxsize=64)
def _kind(number: int) -> EventKind:
    return EventKind(number)


@lru_cache(maxsize=1024)
def _name(field: bytes) -> str:
    return _text(field.partition(b"\0")[0])


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
