"""The levels of a series of timings: where it stepped up or down for good, whatever single nights did.

A series is taken for piecewise constant. Among all ways to cut it, the one is taken that minimises

    sum |y - level of its piece| + penalty x (number of pieces)

with y the logarithm of the seconds and the median of a piece as its level: the L1 Potts functional (Friedrich et al.,
Complexity penalized M-estimation, J. Comput. Graph. Statist. 17, 2008; asv finds its regressions with it). Dynamic
programming over all places to cut finds the minimum; the penalty follows from the noise of the series itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush, heappushpop
from math import exp, inf, log
from statistics import median
from typing import NamedTuple

LEAST_NIGHTS = 4
"""Of a level: fewer on end may be one odd week of a machine."""
ENOUGH_NIGHTS = 2 * LEAST_NIGHTS
"""Below, nothing is said of steps."""
PENALTY = 2.2
"""Of one more piece: so many standard deviations times the logarithm of the nights."""
LEAST_NOISE = 0.002
"""A share: clocks and counters tell no less."""
LAGS = 4
"""Nights that noise is told from: a machine that wanders is as noisy over days as it is, however calm from one night to
the next."""
WINDOW = 7
FAR = 3.0
"""An outlier is cut to so many standard deviations from the median of the nights around it."""


class Level(NamedTuple):
    """Nights ``first`` to ``last`` took ``seconds``."""

    first: int
    last: int
    seconds: float


def levels(seconds: Sequence[float]) -> list[Level]:
    """The pieces of a series, in order; one of all where it is too short to say more. Seconds are above 0."""
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
    """Without a last level of the fewest nights whose first is as those before: it was taken in to have so many, and
    the step would be told a night, and its commits, too early. The same of a first level's last night."""
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
    """The standard deviation of the noise, told from differences between nights close by: a step is in few of them, an
    outlier too."""
    found = LEAST_NOISE
    most = min(LAGS, max(1, len(values) // 5))  # else a step would be in too many of them
    for lag in range(1, min(most, len(values) - 1) + 1):
        moves = [abs(later - earlier) for earlier, later in zip(values, values[lag:], strict=False)]
        found = max(found, 1.4826 * median(moves) / 2**0.5)
    return found


def clipped(values: Sequence[float], most: float) -> list[float]:
    """Each within ``most`` of the median around it."""
    found = []
    for place, value in enumerate(values):
        first = max(0, min(place - WINDOW // 2, len(values) - WINDOW))
        centre = median(values[first : first + WINDOW])
        found.append(min(max(value, centre - most), centre + most))
    return found


def cuts(values: Sequence[float], penalty: float, least: int = 1) -> list[int]:
    """Where the pieces of the minimum begin, each of ``least`` values or more. There are ``least`` at all."""
    count = len(values)
    best = [inf] * (count + 1)  # of the values before a place
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
    """Of the values from ``start`` on, one more each time: the sum of their distances from their median."""
    low: list[float] = []  # the lesser half, negated: its largest comes first
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
