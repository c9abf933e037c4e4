"""Result events: one JSON object a line, one line a verdict, written in one write so that a crash loses none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bitgate.record.verdict import Certificate, Diagnosis, Key, Outcome, Verdict

SCHEMA = 1


class RecordError(ValueError):
    """A results file that cannot be read; the message names file and line."""


def to_event(verdict: Verdict) -> dict[str, Any]:
    """The JSON object of a verdict, with the keys that docs/results.md lists."""
    key, certificate, diagnosis = verdict.key, verdict.certificate, verdict.diagnosis
    event: dict[str, Any] = {
        "schema": SCHEMA,
        "plan": verdict.plan,
        "suite": verdict.suite,
        "test": verdict.test,
        "case": key.case,
        "human": verdict.human,
        "kernel": key.kernel,
        "instance": key.instance,
        "options": dict(key.options),
        "platform": verdict.platform,
        "target": key.target,
        "device": {"kind": verdict.device_kind, "name": verdict.device_name},
        "tier": verdict.tier,
        "fill": key.fill,
        "seed": key.seed,
        "schedule": key.schedule,
        "verdict": verdict.outcome.value,
        "expected": verdict.expected,
        "green": verdict.green,
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
    }
    return event


def from_event(event: dict[str, Any]) -> Verdict:
    """The verdict of an event. Raises RecordError if a key is missing, of the wrong type, or outside its closed set."""
    try:
        if event["schema"] != SCHEMA:
            raise RecordError(f"schema {event['schema']} is not {SCHEMA}: written by another version of bitgate")
        key = Key(
            case=event["case"],
            kernel=event["kernel"],
            instance=event["instance"],
            options=tuple(sorted(event["options"].items())),
            fill=event["fill"],
            seed=event["seed"],
            schedule=event["schedule"],
            target=event["target"],
        )
        certificate = event["certificate"]
        diagnosis = event["diagnosis"]
        return Verdict(
            key=key,
            outcome=Outcome(event["verdict"]),
            reason=event["reason"],
            expected=event["expected"],
            suite=event["suite"],
            test=event["test"],
            tier=event["tier"],
            platform=event["platform"],
            device_kind=event["device"]["kind"],
            device_name=event["device"]["name"],
            digest=event["digest"],
            reference=event["reference"],
            certificate=None if certificate is None else Certificate(**certificate),
            error=event.get("error", {}),
            dispatch=event["dispatch"],
            seconds=event["seconds"],
            diagnosis=None
            if diagnosis is None
            else Diagnosis(tuple(diagnosis["kinds"]), diagnosis["sentence"], diagnosis["evidence"]),
            repro=event["repro"],
            foreign=event["foreign"],
            human=event["human"],
            fingerprint=event["fingerprint"],
            plan=event["plan"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"not a result event: {type(error).__name__}: {error}") from None
    except RecordError:
        raise
    except ValueError as error:
        raise RecordError(str(error)) from None


def append(path: Path, verdict: Verdict) -> None:
    """Append one event in one write, at once; concurrent writers on one file do not interleave (O_APPEND)."""
    line = (json.dumps(to_event(verdict), separators=(",", ":")) + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        written = os.write(descriptor, line)
        if written != len(line):
            _take_back(descriptor, written)
            raise OSError(f"{path}: the disk is full; free space and run again with --resume")
    finally:
        os.close(descriptor)


def _take_back(descriptor: int, written: int) -> None:
    """Remove a part of a line from the end of the file, unless somebody has appended behind it already."""
    end = os.lseek(descriptor, 0, os.SEEK_CUR)
    if os.fstat(descriptor).st_size == end:
        os.ftruncate(descriptor, end - written)


def read(path: Path) -> Iterator[Verdict]:
    """The verdicts of a results file. A last line cut by a crash is dropped; any other bad line is a RecordError."""
    data = path.read_bytes()
    whole = data.endswith(b"\n")
    lines = data.decode(errors="replace").split("\n")
    tail = lines.pop()
    for number, line in enumerate(lines, 1):
        try:
            yield from_event(json.loads(line))
        except (json.JSONDecodeError, RecordError) as error:
            raise RecordError(f"{path}:{number}: {error}") from None
    if not whole and tail:
        # A line without its newline never finished: a crash or a full disk. The case counts as not recorded.
        return
