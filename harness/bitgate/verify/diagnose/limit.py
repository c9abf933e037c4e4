"""Time limits of a diagnosis: the verdict is known before it, and must not be lost to a rule that loops."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

DIAGNOSIS_SECONDS = "BITGATE_DIAGNOSIS_SECONDS"
USUAL_SECONDS = 60.0
SHARE_OF_A_RULE = 0.2
AGAIN_SECONDS = 0.5
"""Interval of further alarms, for a rule that catches everything."""


class DiagnosisTimeout(BaseException):
    """The end of a rule's time. It is no Exception, since a rule may catch those."""


def diagnosis_seconds() -> float:
    """Return the time limit of a whole diagnosis; afterwards the parent takes the verdict without it."""
    return float(os.environ.get(DIAGNOSIS_SECONDS) or USUAL_SECONDS)


def rule_seconds() -> float:
    """Return the time limit of one rule, which leaves time for the others."""
    return SHARE_OF_A_RULE * diagnosis_seconds()


def within(seconds: float, do: Callable[[], T]) -> T:
    """Return what ``do`` returns, or raise DiagnosisTimeout in it when the time is up, at the next step of Python.

    There is no limit where no alarm can be set: in another thread, or while another timer runs.
    """
    before = signal.getsignal(signal.SIGALRM)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before is None or any(signal.getitimer(signal.ITIMER_REAL)):
        return do()

    def late(number: int, frame: FrameType | None) -> None:
        raise DiagnosisTimeout(f"did not end within {seconds:g} s")

    signal.signal(signal.SIGALRM, late)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
        try:
            return do()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
