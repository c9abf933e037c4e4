"""Verdicts and the events that record them. Standard library only."""

from bitgate.record.event import RecordError, append, from_event, read, to_event
from bitgate.record.verdict import KIND_MEANING, KINDS, MEANING, Certificate, Diagnosis, Key, Outcome, Verdict

__all__ = [
    "KINDS",
    "KIND_MEANING",
    "MEANING",
    "Certificate",
    "Diagnosis",
    "Key",
    "Outcome",
    "RecordError",
    "Verdict",
    "append",
    "from_event",
    "read",
    "to_event",
]
