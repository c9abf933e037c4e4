"""Verdicts and the events that record them. Merging them needs no HIP."""

from bitgate.results.record.event import BadLine, RecordError, append, append_line, from_event, read, scan, to_event
from bitgate.results.record.key import Key
from bitgate.results.record.making import DeviceOfRecord, verdict_on
from bitgate.results.record.outcome import Outcome
from bitgate.results.record.stamp import Stamp
from bitgate.results.record.verdict import FINGERPRINT, KIND_MEANING, KINDS, UNKNOWN, Certificate, Diagnosis, Verdict

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
