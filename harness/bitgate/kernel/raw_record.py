"""Raw dispatch records: what a launch left in the record that it was lent, copied before any of it is believed."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from ctypes import string_at
from typing import Annotated

from msgspec import Meta, Struct, ValidationError, convert

from bitgate.kernel.abi import CDispatchRecord, RawValue, Value, ValueKind, raw_values
from bitgate.kernel.dispatch import EVENT_BYTES, DispatchRecord, LaunchEvent


class RawRecord(Struct, frozen=True):
    """A dispatch record as numbers and bytes, which can be given to another process.

    Counts are as stated; arrays hold what fits into the memory that was lent. ``replaced`` names fields of the caller
    that the launch has overwritten, ``malformed`` says why nothing could be copied.
    """

    status: int = 0
    hip_error: int = 0
    launches: int = 0
    zero_fill: int = 0
    workspace_bytes: int = 0
    path: bytes = b""
    instance: bytes = b""
    facts: tuple[RawValue, ...] = ()
    part_columns: bytes = b""
    parts: bytes = b""
    """Rows of 64-bit integers, one for each column."""
    events: bytes | tuple[LaunchEvent, ...] = b""
    """Structures of abi.h, or events that a Python runner made."""
    lost_events: int = 0
    kernargs: bytes = b""
    replaced: tuple[str, ...] = ()
    malformed: str = ""


OF_THE_CALLER = {
    name: slice(field.offset, field.offset + field.size)
    for name in (
        *("struct_size", "fact_capacity", "facts", "part_capacity", "parts", "event_capacity", "events"),
        *("kernarg_capacity", "kernargs"),
    )
    if (field := getattr(CDispatchRecord, name))
}
"""Fields of a record that a library reads and never writes, as places in its bytes."""


def raw_of_c(record: CDispatchRecord, lent: bytes, status: int = 0) -> RawRecord:
    """Copy the record of a library; ``lent`` are its bytes as the library got them."""
    now = bytes(record)
    if replaced := tuple(name for name, place in OF_THE_CALLER.items() if now[place] != lent[place]):
        return RawRecord(replaced=replaced)
    facts = min(record.fact_count, record.fact_capacity)
    events = min(record.event_count, record.event_capacity)
    columns = (record.part_columns or b"") if record.part_count else b""
    width = columns.count(b",") + 1
    rows = min(record.part_count, record.part_capacity // width)
    return RawRecord(
        status=status,
        hip_error=record.hip_error,
        launches=record.launches,
        zero_fill=record.zero_fill,
        workspace_bytes=record.workspace_bytes,
        path=record.path,
        instance=record.instance,
        facts=raw_values(record.facts, facts),
        part_columns=columns,
        parts=string_at(record.parts, 8 * width * rows) if rows else b"",
        # As bytes, since ctypes makes an object of each field that is read.
        events=string_at(record.events, events * EVENT_BYTES) if events else b"",
        lost_events=record.event_count - events,
        kernargs=string_at(record.kernargs, min(record.kernarg_count, record.kernarg_capacity)) if events else b"",
    )


Integer = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class _PythonRecord(Struct):
    """The fields of a DispatchRecord, with the types that they must have."""

    path: str
    launches: Integer
    zero_fill: bool
    workspace_bytes: Integer
    instance: str
    facts: dict[str, Integer | float | str | tuple[Integer, ...]]
    part_columns: tuple[str, ...]
    parts: tuple[tuple[Integer, ...], ...]
    events: tuple[LaunchEvent, ...]
    lost_events: Integer


def raw_of_python(found: object) -> RawRecord:
    """Copy what the ``launch`` of a Python runner returned, which can be anything."""
    if not isinstance(found, DispatchRecord):
        return RawRecord(malformed=f"launch returned an object of type {type(found).__name__}, no DispatchRecord")
    try:
        record = convert(found, _PythonRecord, from_attributes=True)
        width = len(record.part_columns)
        if any(len(row) != width for row in record.parts):
            raise ValueError(f"a row of parts that has not {width} integers, one for each column")
        return RawRecord(
            launches=record.launches,
            zero_fill=int(record.zero_fill),
            workspace_bytes=record.workspace_bytes,
            path=record.path.encode(),
            instance=record.instance.encode(),
            facts=_raw_facts(record.facts),
            part_columns=",".join(record.part_columns).encode(),
            parts=b"".join(struct.pack(f"={width}q", *row) for row in record.parts),
            events=record.events,
            lost_events=record.lost_events,
        )
    except (ValidationError, AttributeError, ValueError) as error:
        return RawRecord(malformed=str(error).replace("`", "'"))


def _raw_facts(facts: Mapping[str, Value]) -> tuple[RawValue, ...]:
    def raw(name: str, value: Value) -> RawValue:
        empty = RawValue(name.encode(), int(ValueKind.INTEGER), 0, 0, 0.0, b"", ())
        if isinstance(value, str):
            return empty._replace(kind=int(ValueKind.TEXT), text=value.encode())
        if isinstance(value, tuple):
            return empty._replace(kind=int(ValueKind.INTEGERS), length=len(value), integers=value)
        if isinstance(value, float):
            return empty._replace(kind=int(ValueKind.REAL), real=value)
        return empty._replace(integer=value)

    return tuple(raw(name, value) for name, value in facts.items())
