"""The levels of a series of timings: the places where it stepped up or down for good, whatever single nights did.

A series is modelled as piecewise constant. Among all ways to cut it, the one is taken that minimises

    sum |y - level of its piece| + penalty x (number of pieces)

with y the logarithm of the seconds and the median of a piece as its level. This is the L1 Potts functional (Friedrich
et al., Complexity penalized M-estimation, J. Comput. Graph. Statist. 17, 2008), with which asv finds regressions.
Dynamic programming over all places to cut finds the minimum; the penalty follows from the noise of the series.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush, heappushpop
from math import exp, inf, log
from statistics import median
from typing import NamedTuple

LEAST_NIGHTS = 4
"""Fewest nights of a level: fewer in a row may be an unusual week of a machine."""
ENOUGH_NIGHTS = 2 * LEAST_NIGHTS
"""Fewest nights of a series for steps to be reported."""
PENALTY = 2.2
"""Penalty of one more piece: this many standard deviations times the logarithm of the nights."""
LEAST_NOISE = 0.002
"""Least noise, as a share: clocks and counters resolve no less."""
LAGS = 4
"""Nights over which noise is estimated: a machine that wanders is noisy over days, however calm from night to night."""
WINDOW = 7
FAR = 3.0
"""An outlier is clipped to this many standard deviations from the median of the nights around it."""


class Level(NamedTuple):
    """The ``seconds`` of nights ``first`` to ``last``."""

    first: int
    last: int
    seconds: float


def levels(seconds: Sequence[float]) -> list[Level]:
    """Return the pieces of a series, in order; one piece where it is too short. Seconds are above 0."""
    if not seconds:
        return []
    values = [log(one) for one in seconds]
    noise = spread(values)
    calm = clipped(values, FAR * noise)
    starts = cuts(calm, PENALTY * noise * log(len(values)), LEAST_NIGHTS) if len(values) >= ENOUGH_NIGHTS else [0]
    starts = _ripe(starts, values)
    ends = [*(start - 1 for start in starts[1:]), len(values) - 1]
    return [Level(start, end, exp(median(values[start : end + 1]))) for start, end in zip(starts, ends, strict=True)]


def _ripe(starts: list[int], values: Sequence[float]) -> list[int]:
    """Drop a last level of the fewest nights whose first night is like those before, and a first level likewise.

    Such a night was only included to reach the fewest. The step would be reported a night, and its commits, too early.
    """
    ends = [*starts[1:], len(values)]
    middles = [median(values[start:end]) for start, end in zip(starts, ends, strict=True)]
    if len(starts) > 1 and ends[-1] - starts[-1] == LEAST_NIGHTS:
        value = values[starts[-1]]
        starts = starts[:-1] if abs(value - middles[-2]) < abs(value - middles[-1]) else starts
    if len(starts) > 1 and ends[0] == LEAST_NIGHTS:
        value = values[ends[0] - 1]
        starts = [starts[0], *starts[2:]] if abs(value - middles[1]) < abs(value - middles[0]) else starts
    return starts


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation of the noise, from differences of nearby nights, of which few contain a step or an
    outlier."""
    found = LEAST_NOISE
    most = min(LAGS, max(1, len(values) // 5))  # otherwise too many of them would contain a step
    for lag in range(1, min(most, len(values) - 1) + 1):
        moves = [abs(later - earlier) for earlier, later in zip(values, values[lag:], strict=False)]
        found = max(found, 1.4826 * median(moves) / 2**0.5)
    return found


def clipped(values: Sequence[float], most: float) -> list[float]:
    """Clip each value to within ``most`` of the median around it."""
    found = []
    for place, value in enumerate(values):
        first = max(0, min(place - WINDOW // 2, len(values) - WINDOW))
        centre = median(values[first : first + WINDOW])
        found.append(min(max(value, centre - most), centre + most))
    return found


def cuts(values: Sequence[float], penalty: float, least: int = 1) -> list[int]:
    """Return where the pieces of the minimum begin, each of ``least`` values or more.

    There must be at least ``least`` values.
    """
    count = len(values)
    best = [inf] * (count + 1)  # least cost of the values before a place
    best[0] = -penalty
    came = [0] * (count + 1)
    alike = 1e-9 * penalty  # medians tie often: rounding must not decide
    for start in range(count):
        if best[start] == inf:
            continue
        for end, cost in enumerate(_deviations(values, start), start + 1):
            total = best[start] + cost + penalty
            if end - start >= least and total < best[end] - alike:
                best[end], came[end] = total, start
    found, place = [], count
    while place > 0:
        place = came[place]
        found.append(place)
    return found[::-1]


def _deviations(values: Sequence[float], start: int) -> list[float]:
    """Return, for each end from ``start`` on, the sum of the values' distances from their median."""
    low: list[float] = []  # the smaller half, negated: its largest comes first
    high: list[float] = []
    below = above = 0.0
    found = []
    for value in values[start:]:
        if len(low) == len(high):
            moved = heappushpop(high, value)
            above += value - moved
            heappush(low, -moved)
            below += moved
        else:
            moved = -heappushpop(low, -value)
            below += value - moved
            heappush(high, moved)
            above += moved
        found.append(above - below + (-low[0] if len(low) > len(high) else 0.0))
    return found
