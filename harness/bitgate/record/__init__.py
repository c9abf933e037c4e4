"""Verdicts and the events that record them. Merging them needs no HIP."""

from bitgate.record.event import BadLine, RecordError, append, append_line, from_event, read, scan, to_event
from bitgate.record.key import Key
from bitgate.record.making import DeviceOfRecord, verdict_on
from bitgate.record.outcome import Outcome
from bitgate.record.stamp import Stamp
from bitgate.record.verdict import (
    FINGERPRINT,
    KIND_MEANING,
    KINDS,
    UNKNOWN,
    Certificate,
    Diagnosis,
    Verdict,
)

__all__ = [
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
