"""How long a shard takes, as far as runs recorded it, and after how long it is to be ended."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

SETUP_SECONDS = 10.0
"""Before a shard's first case: Python and pytest start, the suites are collected, libraries are looked up."""

PATIENCE_SECONDS = 300.0
PATIENCE = 20
"""Times the estimate."""

MARGIN = 2.0
"""A machine that was never seen may be half as fast as the slowest that was."""


@dataclass(frozen=True)
class ShardTime:
    """Of a shard on one worker, without its set-up. ``seconds``: as a rule; ``late``: the sum of its cases' 95th
    percentiles, which one run in twenty exceeds at most, even if what slows one case slows all; ``longest``: its
    dearest case."""

    seconds: float
    late: float
    longest: float = 0.0


def patience(seconds: float) -> float:
    """After how many seconds a case of this estimate counts as hung. Hosts are shared, so it is far more than it should
    take."""
    return max(PATIENCE_SECONDS, PATIENCE * seconds)


def limit_minutes(length: ShardTime, setup_seconds: float = SETUP_SECONDS) -> int:
    """Whole minutes after which a shard is ended: far more than a slow run takes, with time for one case that hangs to
    be told as such."""
    return ceil((setup_seconds + MARGIN * length.late + patience(length.longest)) / 60)
