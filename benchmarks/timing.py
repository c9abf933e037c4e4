"""How long a piece of work takes, by the wall."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds, and what the work gave."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def fastest(work: Callable[[], T], repeat: int) -> tuple[float, T]:
    """The seconds of the fastest of several runs, and what the last one gave."""
    runs = [timed(work) for _ in range(repeat)]
    return min(seconds for seconds, _ in runs), runs[-1][1]
