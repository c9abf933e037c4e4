"""A device kept busy until a sample's launches are queued, so that none waits for the thread that makes it."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from bitgate.kernel.dispatch import DispatchRecord
from bitgate.runtime.tools import DeviceTools

SPARE = 1.5
"""A hold lasts so many times as long as the launches take to be queued,"""
LEAST_SECONDS = 1e-4
"""and that much longer."""
FIRST_GUESS = 2e-5
"""Seconds that a launch takes to be queued, before any was."""
MOST_SECONDS = 0.1
"""A launch that waits for the device itself is never queued, however long it is held."""
MOST_QUEUED = 384
"""Fills, copies and launches of a sample: with some hundred in its queue a device lets the thread wait."""
PROBE_TICKS, PROBES = 1_000_000, 3


def most_queued(record: DispatchRecord | None) -> int:
    """Launches of a kernel that a sample may have."""
    events = len(record.events) if record is not None else 0
    return max(1, MOST_QUEUED // max(1, events))


class QueueGate:
    """``clock(work)`` gives the seconds that the device takes for what ``work`` queues."""

    def __init__(self, tools: DeviceTools, clock: Callable[[Callable[[], None]], float]) -> None:
        self._tools = tools
        self._ticks_a_second = 0.0
        self._clock = clock

    def begin(self, launches: int, seconds: float) -> None:
        """Hold what is queued from here on for as long as so many ``launches`` of so many host ``seconds`` need."""
        wanted = min(MOST_SECONDS, LEAST_SECONDS + SPARE * launches * (seconds or FIRST_GUESS))
        self._tools.hold(ceil(wanted * self._rate))

    @property
    def _rate(self) -> float:
        """The device's clock need not be the one its data sheet names. The first hold loads the code."""
        if not self._ticks_a_second:
            self._tools.hold(1)
            seconds = min(self._clock(lambda: self._tools.hold(PROBE_TICKS)) for _ in range(PROBES))
            self._ticks_a_second = PROBE_TICKS / seconds
        return self._ticks_a_second
