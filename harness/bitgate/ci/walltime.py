"""How long an engine may leave a task alone."""

from __future__ import annotations

from math import ceil

SLACK = 1.5
"""Times the 95th percentile: a night must not end a shard that is merely slow."""


def minutes_of(seconds_p95: float, setup: float) -> int:
    """The whole minutes of a task's limit: ``seconds_p95`` is the 95th percentile of what its cases took in earlier
    nights, ``setup`` the seconds before the first case (import, fetching or building kernels)."""
    return max(1, ceil((SLACK * seconds_p95 + setup) / 60))
