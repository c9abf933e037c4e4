"""The check of a raw dispatch record: the one place that decides whether what a launch states can be believed."""

from __future__ import annotations

import math
import struct
from functools import lru_cache

from msgspec import Struct

from bitgate.kernel.abi import AbiStatus, Value, utf_8, value_of
from bitgate.kernel.dispatch import EVENT_BYTES, DispatchRecord, Launches, LaunchEvent
from bitgate.kernel.raw_record import RawRecord


class RecordDefect(Struct, frozen=True):
    """The reason that a dispatch record is refused: the field that is wrong, and a sentence about it."""

    field: str
    text: str

    def __str__(self) -> str:
        return f"its dispatch record cannot be believed: {self.field}: {self.text}"


class _Defect(Exception):
    def __init__(self, field: str, text: object) -> None:
        super().__init__(text)
        self.found = RecordDefect(field, str(text))


def checked(raw: RawRecord, instance: str) -> DispatchRecord | RecordDefect:
    """Return the record of a launch of the instance, or its first defect."""
    try:
        return _checked(raw, instance)
    except _Defect as defect:
        return defect.found


def _checked(raw: RawRecord, instance: str) -> DispatchRecord:
    if raw.malformed:
        raise _Defect("record", raw.malformed)
    for field in raw.replaced:
        raise _Defect(field, "belongs to the caller, and was overwritten")
    if raw.status == AbiStatus.OK and raw.hip_error:
        raise _Defect("hip_error", f"hipError_t {raw.hip_error} beside the status OK")
    ran = _name("instance", raw.instance)
    if ran != instance:
        raise _Defect("instance", f"'{ran}' ran, '{instance}' was asked for")
    for field, count in (
        *(("launches", raw.launches), ("workspace_bytes", raw.workspace_bytes), ("lost_events", raw.lost_events)),
    ):
        if count < 0:
            raise _Defect(field, f"{count} is no number of anything")
    if raw.zero_fill not in (0, 1):
        raise _Defect("zero_fill", f"{raw.zero_fill} is neither 0 nor 1")
    columns, parts = _parts(raw.part_columns, raw.parts)
    return DispatchRecord(
        path=_name("path", raw.path),
        launches=raw.launches,
        zero_fill=bool(raw.zero_fill),
        workspace_bytes=raw.workspace_bytes,
        instance=ran,
        facts=_facts(raw),
        part_columns=columns,
        parts=parts,
        events=_events(raw),
        lost_events=raw.lost_events,
        raw=raw,
    )


@lru_cache(maxsize=256)
def _name(field: str, data: bytes) -> str:
    try:
        text = utf_8(data)
    except ValueError as error:
        raise _Defect(field, error) from None
    if not text.isprintable():
        raise _Defect(field, f"{text!r:.80} holds characters that cannot be printed")
    return text


def _facts(raw: RawRecord) -> dict[str, Value]:
    facts: dict[str, Value] = {}
    for one in raw.facts:
        name = _name("facts", one.name)
        try:
            value = value_of(one)
        except ValueError as error:
            raise _Defect("facts", f"{name}: {error}") from None
        if isinstance(value, float) and not math.isfinite(value):
            raise _Defect("facts", f"{name}: {value} is no number")
        if not name or name in facts:
            raise _Defect("facts", f"two have the name '{name}'" if name else "one has no name")
        facts[name] = value
    return facts


@lru_cache(maxsize=16)
def _parts(names: bytes, rows: bytes) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Decode parts; they are kept, since the launches of a case, and of instances of one problem, list the same."""
    if not names and not rows:
        return (), ()
    columns = tuple(_name("part_columns", names).split(","))
    if not all(columns) or len(set(columns)) < len(columns):
        raise _Defect("part_columns", f"'{','.join(columns):.80}' does not name each column once")
    row = struct.Struct(f"={len(columns)}q")
    if len(rows) % row.size:
        raise _Defect("parts", f"{len(rows)} bytes are no rows of {len(columns)} integers")
    return columns, tuple(row.iter_unpack(rows))


def _events(raw: RawRecord) -> Launches | tuple[LaunchEvent, ...]:
    if not isinstance(raw.events, bytes):
        return raw.events
    if not raw.events:
        return ()
    if len(raw.events) % EVENT_BYTES:
        raise _Defect("events", f"{len(raw.events)} bytes are no events of {EVENT_BYTES}")
    try:
        return Launches(raw.events, raw.kernargs)
    except ValueError as error:
        raise _Defect("events", error) from None
