"""The types of a results line. Whatever wrote it, what passes here can be merged, counted and shown."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bitgate.core.untrusted import Count, InvalidInput, Name, NameOrNone, Seconds, Short, Text, shaped
from bitgate.results.record.outcome import Outcome


class DeviceLine(Struct):
    kind: Short
    name: Short


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


class RecordLine(Struct):
    """Beside the fields of ``Key``. What is not listed is left alone: a newer bitgate may say more under the same
    schema."""

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
    compared: bool = True


def check_types(event: Any) -> None:
    """OddInput with the place where an event differs from what a results line is."""
    line = shaped(RecordLine, event)
    certificate = line.certificate
    if certificate and max(abs(certificate.bound), abs(certificate.exact_range)) >> 1100:
        raise InvalidInput("certificate: a bound of more than 1100 bits")
