"""Dispatch records: what a library reports that it ran, copied out of the C structures."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from ctypes import sizeof
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, overload

from msgspec import Struct

from bitgate.kernel.abi import MAX_ARGS, NAME_BYTES, CLaunch, EventKind, Value, utf_8

_EVENT = struct.Struct(f"@2i{NAME_BYTES}s6IQ2IQ{3 * MAX_ARGS}I5Q")
"""The layout of ``bitgate_launch`` of abi.h, field by field, aligned as in C."""
EVENT_BYTES = _EVENT.size
assert sizeof(CLaunch) == EVENT_BYTES
_OUTLINE = struct.Struct(f"@2i{NAME_BYTES}s6IQ2IQ{12 * MAX_ARGS}x5Q")
assert _OUTLINE.size == EVENT_BYTES
_KIND_AND_NAME = struct.Struct(f"@2i{NAME_BYTES}s{_EVENT.size - 8 - NAME_BYTES}x")

TRANSPOSES = frozenset({"transpose_in", "transpose_out"})
"""Names of the launches that bring a tensor to the layout of the kernel, and its result back."""


Octets = bytes
"""The type, which the field ``bytes`` of an event hides from msgspec."""


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
    kernargs: Octets
    address: int
    source: int
    bytes: int
    function: int = 0
    launcher: int = 0


class LaunchOutline(NamedTuple):
    """The fields of a LaunchEvent that distinguish launches and fills."""

    kind: EventKind
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    address: int
    bytes: int
    function: int


class Launches(Sequence[LaunchEvent]):
    """The events of a dispatch record, copied as bytes and decoded when first used, which most never are.

    ValueError for an event of an unknown kind, or whose name is not UTF-8.
    """

    def __init__(self, data: bytes, kernargs: bytes) -> None:
        self.data, self._kernargs = data, kernargs
        heads = list(_KIND_AND_NAME.iter_unpack(data))
        self.names = tuple(_name(name) for _, _, name in heads)
        for kind, *_ in heads:
            _kind(kind)

    @property
    def outlines(self) -> list[LaunchOutline]:
        """The events without their arguments, which take most of the time to decode."""
        return [_outline(fields) for fields in _OUTLINE.iter_unpack(self.data)]

    @cached_property
    def _events(self) -> tuple[LaunchEvent, ...]:
        return tuple(_event(fields, self._kernargs) for fields in _EVENT.iter_unpack(self.data))

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, place: int) -> LaunchEvent: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[LaunchEvent, ...]: ...

    def __getitem__(self, place: int | slice) -> LaunchEvent | tuple[LaunchEvent, ...]:
        return self._events[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._events == tuple(other)

    def __hash__(self) -> int:
        return hash(self._events)

    def __repr__(self) -> str:
        return repr(self._events)


@dataclass(frozen=True)
class DispatchRecord:
    """The record of one launch of a kernel: path, workspace, facts, parts, and every event.

    ``launches`` counts kernels without the zero-fill and the transposes. ``facts`` are those of the family, by name:
    ``split_k`` (resolved), ``split_n`` (chunks of images), ``main_loop`` (whether the K loops run more than one step:
    in ``all`` tiles, in ``none``, or in some, ``mixed``) ...

    ``parts`` are rows of integers, one for each part that the problem was computed in; ``part_columns`` names them.
    ``lost_events`` counts those that did not fit into the record.
    """

    path: str
    launches: int
    zero_fill: bool
    workspace_bytes: int
    instance: str
    facts: Mapping[str, Value]
    part_columns: tuple[str, ...]
    parts: tuple[tuple[int, ...], ...]
    events: Sequence[LaunchEvent]
    lost_events: int = 0
    raw: Any = field(default=None, compare=False, repr=False)
    """The ``RawRecord`` that it was read from, for another process that is to check it again."""

    @property
    def launched(self) -> tuple[int, ...]:
        """Indices of the parts that some launch covered, if the record states them."""
        if not {"index", "launched"} <= set(self.part_columns):
            return ()
        index, launched = (self.part_columns.index(name) for name in ("index", "launched"))
        return tuple(part[index] for part in self.parts if part[launched])

    @property
    def transposes(self) -> int:
        """Copies between a tensor's layout and the workspace's."""
        events = self.events
        names = events.names if isinstance(events, Launches) else (event.name for event in events)
        return sum(name in TRANSPOSES for name in names)

    def summary(self) -> dict[str, Any]:
        """Return fields and facts for the results line, with the launched parts as ``0-8`` or ``0,32``."""
        return {
            **self.facts,
            "path": self.path,
            "launches": self.launches,
            "zero_fill": self.zero_fill,
            "transposes": self.transposes,
            "workspace_bytes": self.workspace_bytes,
            "launched": spans(self.launched),
        }


def outlines_of(events: Sequence[LaunchEvent]) -> list[LaunchOutline]:
    """Return the outlines of a record's events."""
    if isinstance(events, Launches):
        return events.outlines
    return [
        LaunchOutline(one.kind, one.name, one.grid, one.block, one.address, one.bytes, one.function) for one in events
    ]


def spans(indices: Iterable[int]) -> str:
    """Format ascending integers as spans: ``0-3,7``."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _event(fields: tuple[Any, ...], kernargs: bytes) -> LaunchEvent:
    kind, wave_size, name, *grid_and_block, lds_bytes, arg_count, size, begin = fields[:13]
    args = fields[13 : 13 + 3 * min(arg_count, MAX_ARGS)]
    address, source, length, function, launcher = fields[-5:]
    kept = size > 0 and begin + size <= len(kernargs)
    return LaunchEvent(
        kind=_kind(kind),
        name=_name(name),
        grid=tuple(grid_and_block[:3]),
        block=tuple(grid_and_block[3:]),
        lds_bytes=lds_bytes,
        wave_size=wave_size,
        args=tuple((args[i], args[i + 1], bool(args[i + 2])) for i in range(0, len(args), 3)),
        kernargs=kernargs[begin : begin + size] if kept else b"",
        address=address,
        source=source,
        bytes=length,
        function=function,
        launcher=launcher,
    )


def _outline(fields: tuple[Any, ...]) -> LaunchOutline:
    kind, _, name, x, y, z, bx, by, bz, *_, address, _, size, function, _ = fields
    return LaunchOutline(_kind(kind), _name(name), (x, y, z), (bx, by, bz), address, size, function)


@lru_cache(maxsize=64)
def _kind(number: int) -> EventKind:
    return EventKind(number)


@lru_cache(maxsize=1024)
def _name(field: bytes) -> str:
    return utf_8(field.partition(b"\0")[0])
