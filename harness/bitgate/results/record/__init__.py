"""Verdicts and the events that record them. Merging them needs no HIP."""

from bitgate.results.record.event import BadLine, RecordError, append, append_line, from_event, read, scan, to_event
from bitgate.results.record.identity import Key, Stamp
from bitgate.results.record.outcome import Outcome
from bitgate.results.record.verdict import (
    EMULATOR,
    FINGERPRINT,
    KIND_MEANING,
    KINDS,
    UNKNOWN,
    Certificate,
    DeviceOfRecord,
    Diagnosis,
    Verdict,
    verdict_on,
)

__all__ = [
    "EMULATOR",
    "FINGERPRINT",
    "KINDS",
    "KIND_MEANING",
    "UNKNOWN",
    "BadLine",
    "Certificate",
    "DeviceOfRecord",
    "Diagnosis",
    "Key",
    "Outcome",
    "RecordError",
    "Stamp",
    "Verdict",
    "append",
    "append_line",
    "from_event",
    "read",
    "scan",
    "to_event",
    "verdict_on",
]
