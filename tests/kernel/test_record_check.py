"""What a library, or a Python runner, states about a launch is believed only where it can be true."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bitgate.kernel.abi import RawValue, Value
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.raw_record import RawRecord, raw_of_python
from bitgate.kernel.record_check import RecordDefect, checked

SOUND = RawRecord(launches=1, path=b"flat", instance=b"t64", facts=(RawValue(b"split_k", 0, 0, 3, 0.0, b"", ()),))
FACT = SOUND.facts[0]


def defect(raw: RawRecord) -> RecordDefect:
    found = checked(raw, "t64")
    assert isinstance(found, RecordDefect), found
    return found


def test_a_sound_record_is_taken_as_it_is() -> None:
    assert checked(SOUND, "t64") == DispatchRecord("flat", 1, False, 0, "t64", {"split_k": 3}, (), (), ())


def test_a_raw_record_can_go_to_another_process() -> None:
    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(SOUND), type=RawRecord)
    assert checked(sent, "t64") == checked(SOUND, "t64")


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"instance": b"t128"}, "instance", "'t128' ran, 't64' was asked for"),
        ({"instance": b""}, "instance", "'' ran"),
        ({"hip_error": 700}, "hip_error", "hipError_t 700 beside the status OK"),
        ({"launches": -1}, "launches", "-1"),
        ({"workspace_bytes": -4}, "workspace_bytes", "-4"),
        ({"zero_fill": 2}, "zero_fill", "neither 0 nor 1"),
        ({"path": b"\xff"}, "path", "not UTF-8"),
        ({"path": b"\x1b[2J"}, "path", "cannot be printed"),
        ({"path": "\u202eflat".encode()}, "path", "cannot be printed"),
        ({"replaced": ("parts",)}, "parts", "belongs to the caller"),
        ({"facts": (FACT, FACT)}, "facts", "two have the name 'split_k'"),
        ({"facts": (FACT._replace(name=b""),)}, "facts", "no name"),
        ({"facts": (FACT._replace(kind=9),)}, "facts", "split_k: 9"),
        ({"facts": (FACT._replace(kind=3, length=2**32 - 1),)}, "facts", "4294967295 integers"),
        ({"facts": (FACT._replace(kind=3, length=2),)}, "facts", "2 integers at null"),
        ({"facts": (FACT._replace(kind=1, real=float("inf")),)}, "facts", "inf"),
        ({"facts": (FACT._replace(kind=2, text=b"a" * 70000),)}, "facts", "more than 65536 bytes"),
        ({"part_columns": b"a,a", "parts": bytes(16)}, "part_columns", "'a,a'"),
        ({"parts": bytes(8)}, "part_columns", "does not name each column"),
        ({"part_columns": b"a,b", "parts": bytes(8)}, "parts", "8 bytes are no rows of 2 integers"),
        ({"events": bytes(7)}, "events", "7 bytes are no events"),
        ({"events": b"\x4d" + bytes(831)}, "events", "77 is not a valid EventKind"),
        ({"malformed": "launch returned nothing"}, "record", "launch returned nothing"),
    ],
)
def test_what_cannot_be_true_is_named(change: dict[str, Any], field: str, said: str) -> None:
    found = defect(msgspec.structs.replace(SOUND, **change))
    assert found.field == field
    assert said in found.text


def test_a_python_record_is_checked_like_a_librarys() -> None:
    facts: dict[str, Value] = {"split_k": 3, "share": 0.5, "way": "direct", "tile": (64, 64, 8)}
    record = DispatchRecord("flat", 1, True, 8, "t64", facts, ("index", "launched"), ((0, 1), (1, 0)), ())
    assert checked(raw_of_python(record), "t64") == record
    assert defect(raw_of_python(DispatchRecord("flat", 1, True, 8, "t128", {}, (), (), ()))).field == "instance"


@pytest.mark.parametrize(
    "found",
    [
        *(None, "flat", {"path": "flat"}, (n for n in "generator")),
        DispatchRecord("flat", "1", False, 0, "t64", {}, (), (), ()),  # type: ignore[arg-type]
        DispatchRecord("flat", 1, False, 0, "t64", {"a": object()}, (), (), ()),  # type: ignore[dict-item]
        DispatchRecord("flat", 1 << 70, False, 0, "t64", {}, (), (), ()),
        DispatchRecord("\ud800", 1, False, 0, "t64", {}, (), (), ()),
        DispatchRecord("flat", 1, False, 0, "t64", {}, ("a", "b"), ((1,),), ()),
        DispatchRecord("flat", 1, False, 0, "t64", {}, (), (), ("launch",)),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_record_is_refused(found: object) -> None:
    assert defect(raw_of_python(found)).field == "record"
