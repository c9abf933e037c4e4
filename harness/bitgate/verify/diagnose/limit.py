"""How long a diagnosis may take: the verdict is known before it, and is not to be lost to a rule that loops."""

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
"""A rule that catches everything is told once more."""


class DiagnosisTimeout(BaseException):
    """A rule has had its time. No Exception: a rule may catch those."""


def diagnosis_seconds() -> float:
    """What a diagnosis may take, all rules; then whoever waits for the verdict takes it without."""
    return float(os.environ.get(DIAGNOSIS_SECONDS) or USUAL_SECONDS)


def rule_seconds() -> float:
    """What one rule may take, so that the others still have their say."""
    return SHARE_OF_A_RULE * diagnosis_seconds()


def within(seconds: float, do: Callable[[], T]) -> T:
    """What ``do`` returns; OverTime is raised in its midst when the time is up, at the next step of Python. Where no
    alarm can be set (another thread, a timer that runs already) it may take what it takes."""
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
