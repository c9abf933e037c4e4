"""Result events: one JSON object a line, one line a verdict, written in one write so that a crash loses none."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from bitgate.core.emulation import EMULATED as EMULATED_KIND
from bitgate.core.targets import EMULATED, is_emulated
from bitgate.core.untrusted import (
    LONGEST_LINE,
    Count,
    InvalidInput,
    Name,
    NameOrNone,
    Seconds,
    Short,
    Text,
    parse_json,
    printable,
    read_bytes,
    shaped,
)
from bitgate.results.record.identity import Key, Stamp
from bitgate.results.record.outcome import Outcome
from bitgate.results.record.verdict import Certificate, Diagnosis, Verdict


class DeviceLine(Struct):
    kind: Short
    name: Short
    uuid: Short = ""
    pci: Short = ""
    index: Short = ""


class CertificateLine(Struct):
    bound: int
    exact_range: int
    density: float
    sensitivity: float | None
    holds: bool
    note: Text = ""


class DiagnosisLine(Struct):
    kinds: list[Name]
    sentence: Text
    evidence: dict[str, Any]


class StampLine(Struct):
    id: Short
    attempt: Count
    time: Short
    job: Short = ""
    shard: Short = ""
    commit: Short = ""


class RecordLine(Struct):
    """The fields of a results line other than those of ``Key``.

    Fields that are not listed are ignored: a newer bitgate may write more under the same schema.
    """

    schema: int
    plan: Short
    suite: NameOrNone
    test: Text
    human: Text
    platform: Short
    device: DeviceLine
    tier: Short
    verdict: Outcome
    expected: bool
    reason: Text
    digest: Short
    reference: Short
    certificate: CertificateLine | None
    dispatch: dict[str, Any]
    seconds: dict[Short, Seconds]
    diagnosis: DiagnosisLine | None
    repro: Text
    foreign: Text
    fingerprint: dict[Short, Text]
    error: dict[Short, float] = {}
    run: StampLine | None = None
    """Records from before runs were stamped have none."""
    row: Text = ""
    view: dict[str, Any] = {}
    known_bug: dict[Short, Text] = {}
    where: dict[Short, Short] = {}
    compared: bool = True


def check_types(event: Any) -> None:
    """Raise InvalidInput with the place where an event differs from a results line."""
    line = shaped(RecordLine, event)
    certificate = line.certificate
    if certificate and max(abs(certificate.bound), abs(certificate.exact_range)) >> 1100:
        raise InvalidInput("certificate: a bound of more than 1100 bits")


DEVICE_ID = ("uuid", "pci", "index")
SCHEMA = 1
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT
AS_THEY_ARE = frozenset(field.name for field in fields(Verdict)) & set(RecordLine.__struct_fields__) - {
    *("certificate", "diagnosis", "known_bug", "run")
}
"""Fields of a verdict that its line holds unchanged, under the same name."""


class RecordError(ValueError):
    """A results file that cannot be read; the message names file and line."""


def to_event(verdict: Verdict) -> dict[str, Any]:
    """Return the JSON object of a verdict, with the keys that docs/results.md lists."""
    key, certificate, diagnosis = verdict.key, verdict.certificate, verdict.diagnosis
    event: dict[str, Any] = {
        "schema": SCHEMA,
        "plan": verdict.plan,
        "suite": verdict.suite,
        "test": verdict.test,
        **key.fields(),
        "human": verdict.human,
        "platform": verdict.platform,
        "device": {"kind": verdict.device_kind, "name": verdict.device_name, **verdict.device_id},
        "tier": verdict.tier,
        "verdict": verdict.outcome.value,
        "expected": verdict.expected,
        "green": verdict.green,
        "compared": verdict.compared,
        "reason": verdict.reason,
        "digest": verdict.digest,
        "reference": verdict.reference,
        "certificate": None if certificate is None else dict(vars(certificate)),
        "error": verdict.error,
        "dispatch": verdict.dispatch,
        "seconds": {name: round(value, 6) for name, value in verdict.seconds.items()},
        "diagnosis": None
        if diagnosis is None
        else {"kinds": list(diagnosis.kinds), "sentence": diagnosis.sentence, "evidence": diagnosis.evidence},
        "repro": verdict.repro,
        "foreign": verdict.foreign,
        "fingerprint": verdict.fingerprint,
        "row": verdict.row,
        "run": None if verdict.run is None else _stated(verdict.run),
    }
    # Left out if empty, as in most lines.
    event |= {name: value for name in ("view", "known_bug", "where") if (value := getattr(verdict, name))}
    return event


def from_event(event: dict[str, Any]) -> Verdict:
    """Return the verdict of an event. RecordError if a key is missing, of the wrong type, or outside its closed set."""
    try:
        if event["schema"] != SCHEMA:
            raise RecordError(f"schema {event['schema']!r:.40} is not {SCHEMA}: written by another version of bitgate")
        check_types(event)
        certificate = event["certificate"]
        diagnosis = event["diagnosis"]
        verdict = Verdict(
            **{name: _shown(event[name]) for name in AS_THEY_ARE if name in event},
            key=_key(event),
            outcome=Outcome(event["verdict"]),
            device_kind=printable(event["device"]["kind"]),
            device_name=printable(event["device"]["name"]),
            device_id={name: printable(event["device"][name]) for name in DEVICE_ID if event["device"].get(name)},
            certificate=None if certificate is None else Certificate(**certificate),
            diagnosis=None
            if diagnosis is None
            else Diagnosis(tuple(diagnosis["kinds"]), printable(diagnosis["sentence"]), diagnosis["evidence"]),
            shows=bool(event.get("compared", True)) or event["verdict"] != Outcome.PASS,
            known_bug=_known_bug(event),
            run=_stamp(event.get("run")),
        )
        if verdict.green and not event.get("green", True):
            raise RecordError(f"it says {verdict.outcome}, and that it is not green: one of them is wrong")
        return verdict
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"not a result event: {type(error).__name__}: {error}") from None
    except RecordError:
        raise
    except ValueError as error:
        raise RecordError(str(error)) from None


def _key(event: dict[str, Any]) -> Key:
    """Return the key of an event. What ran on an emulator has no GPU's target, whoever wrote its line.

    RecordError for an emulated target whose device is said to be none.
    """
    key, kind = Key.of(event), event["device"]["kind"]
    if kind == EMULATED_KIND and not is_emulated(key.target):
        return replace(key, target=f"{EMULATED}{key.target}")
    if is_emulated(key.target) and kind not in (EMULATED_KIND, ""):
        raise RecordError(f"its target is {key.target}, its device {printable(str(kind))[:40]}: one of them is wrong")
    return key


def _shown(value: Any) -> Any:
    """Return a field as reports and terminals may show it: a library's words come here from another process, or from a
    file. Facts about machines are words of theirs, too; a dispatch record keeps what it states."""
    if isinstance(value, dict) and all(isinstance(one, str) for one in value.values()):
        return {printable(name): printable(one) for name, one in value.items()}
    return printable(value) if isinstance(value, str) else value


def _known_bug(event: dict[str, Any]) -> dict[str, str]:
    """Return the entry of the ledger of known bugs that the event names.

    A KNOWN_BUG is green, so the entry must state which bug it is, how the case failed, and until when that is excused.
    """
    entry = {str(name): printable(str(value)) for name, value in event.get("known_bug", {}).items()}
    ended = Outcome(entry.get("outcome", Outcome.KNOWN_BUG))  # a ValueError for what is no outcome
    if Outcome(event["verdict"]) is not Outcome.KNOWN_BUG:
        return entry
    if lacking := [name for name in ("ticket", "owner", "expires", "outcome") if not entry.get(name)]:
        raise RecordError(f"it says KNOWN_BUG, and not by which entry of a ledger: {', '.join(lacking)} is missing")
    if ended in (Outcome.PASS, Outcome.KNOWN_BUG):
        raise RecordError(f"it says KNOWN_BUG, and that the case ended in {ended}, which is no failure")
    ran = str((event.get("run") or {}).get("time", ""))[:10]
    if ran > entry["expires"]:
        raise RecordError(f"it says KNOWN_BUG by an entry that had expired ({entry['expires']}) when it ran ({ran})")
    return entry


def _stated(run: Stamp) -> dict[str, Any]:
    found = dict(vars(run))
    if not run.commit:
        del found["commit"]
    return found


def _stamp(run: dict[str, Any] | None) -> Stamp | None:
    if run is None:
        return None
    stamp = Stamp(
        run["id"], run["attempt"], run["time"], run.get("job", ""), run.get("shard", ""), run.get("commit", "")
    )
    _ = stamp.instant  # a time that is none puts nothing in order
    return stamp


def append(path: Path, verdict: Verdict) -> None:
    """Append one event in one write, at once; concurrent writers on one file do not interleave (O_APPEND)."""
    append_line(path, (json.dumps(to_event(verdict), separators=(",", ":")) + "\n").encode())


def append_line(path: Path, line: bytes) -> None:
    """Append a line, whole or not at all. OSError if it cannot be written."""
    try:
        descriptor = os.open(path, _APPENDING, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, _APPENDING, 0o644)
    try:
        try:
            written = os.write(descriptor, line)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            written = 0
        if written != len(line):
            _take_back(descriptor, written)
            raise OSError(f"{path}: the disk is full; free space and run again with --resume")
    finally:
        os.close(descriptor)


def _take_back(descriptor: int, written: int) -> None:
    """Remove a part of a line from the end of the file, unless another writer has appended after it already."""
    end = os.lseek(descriptor, 0, os.SEEK_CUR)
    if os.fstat(descriptor).st_size == end:
        os.ftruncate(descriptor, end - written)


@dataclass(frozen=True)
class BadLine:
    """A line that is no verdict. ``cut``: it is the last one and has no end, as after a crash or on a full disk."""

    number: int
    why: str
    cut: bool = False


def scan(path: Path) -> Iterator[Verdict | BadLine]:
    """Yield a verdict or a BadLine for every line of a results file. RecordError if the file cannot be read at all."""
    try:
        data = read_bytes(path)
    except InvalidInput as error:
        raise RecordError(f"{path}: {error}") from None
    lines = data.split(b"\n")
    tail = lines.pop()
    for number, line in enumerate(lines, 1):
        try:
            if len(line) > LONGEST_LINE:
                raise InvalidInput(f"a line of {len(line)} bytes: at most {LONGEST_LINE} are read")
            yield from_event(parse_json(line))
        except (InvalidInput, RecordError) as error:
            yield BadLine(number, str(error))
    if tail:
        yield BadLine(len(lines) + 1, "the line is cut: its writer died, or the disk was full", cut=True)


def read(path: Path) -> Iterator[Verdict]:
    """Yield the verdicts of a results file that this machine wrote.

    A last line that a crash cut short is dropped, and its case counts as not recorded. Any other bad line raises
    RecordError.
    """
    for found in scan(path):
        if isinstance(found, Verdict):
            yield found
        elif not found.cut:
            raise RecordError(f"{path}:{found.number}: {found.why}")
