"""The drawings of a case: a strip of its verdicts, and its durations with their levels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from bitgate.lab.history.durations import LEAST_DRIFT, LEAST_SECONDS
from bitgate.lab.history.levels import ENOUGH_NIGHTS, LEAST_NIGHTS, Level, levels

WIDE = 9
"""Width of a verdict in the strip."""
TIMES = 440
"""Width of the plot of durations; a point is at least two of these units wide."""
HIGH = 60


def strip(kinds: Sequence[str], changed: Sequence[int], words: str) -> str:
    """Return the strip as SVG: a bar an answer, of a height and colour for each kind, and a dot for a new digest.

    ``words`` are the same for readers who do not see it, and are safe in HTML.
    """
    width = WIDE * len(kinds)
    paths: dict[str, list[str]] = {}
    first = 0
    for place in range(1, len(kinds) + 1):
        if place == len(kinds) or kinds[place] != kinds[first]:
            paths.setdefault(kinds[first], []).append(f"M{WIDE * first} 12h{WIDE * (place - first)}")
            first = place
    drawn = "".join(f'<path class="v {kind}" d="{"".join(path)}"/>' for kind, path in paths.items())
    dots = "".join(f"M{WIDE * place + 4} 27h0" for place in changed)
    dotted = f'<path class="dots" d="{dots}"/>' if dots else ""
    return (
        f'<svg class="strip" viewBox="0 0 {width} 30" width="{width}" height="30" role="img" aria-label="{words}">'
        f"{drawn}{dotted}</svg>"
    )


class Times(NamedTuple):
    """The durations of a case: ``levels`` that differ enough to matter, of at least one."""

    seconds: Sequence[float]
    levels: Sequence[Level]

    @property
    def ratio(self) -> float:
        """The last level divided by the first."""
        return 1.0 if len(self.levels) == 1 else self.levels[-1].seconds / self.levels[0].seconds

    @property
    def steps(self) -> list[int]:
        """The places at which a new level begins."""
        return [level.first for level in self.levels[1:]]


def times_of(seconds: Sequence[float]) -> Times:
    """Return durations with their levels. A single level is all that matters where the others differ too little."""
    middle = sorted(seconds)[len(seconds) // 2]
    one = [Level(0, len(seconds) - 1, middle)]
    if min(seconds) <= 0 or _is_calm(seconds):
        return Times(seconds, one)
    found = levels(seconds)
    matters = any(
        abs(after.seconds - before.seconds) >= _least(max(after.seconds, before.seconds))
        for before, after in pairwise(found)
    )
    return Times(seconds, found if matters else one)


def _least(slower: float) -> float:
    return max(LEAST_SECONDS, LEAST_DRIFT * slower)


def _is_calm(seconds: Sequence[float]) -> bool:
    """Return True if no two levels can differ enough: a level's median lies within those of the fewest nights in it."""
    if len(seconds) < ENOUGH_NIGHTS:
        return True
    windows = [sorted(seconds[place : place + LEAST_NIGHTS]) for place in range(len(seconds) - LEAST_NIGHTS + 1)]
    low, high = min(window[1] for window in windows), max(window[2] for window in windows)
    return high - low < _least(high)


@lru_cache(maxsize=256)
def _places(count: int) -> list[str]:
    """Return where the dots of a plot begin, from left to right."""
    wide = (TIMES - 8) / max(1, count - 1)
    return [f"M{4 + wide * place:.0f} " for place in range(count)]


def plot(times: Times, words: str) -> str:
    """Return durations as SVG: a dot each, a bar a level, from zero to the slowest."""
    count, top = len(times.seconds), max(times.seconds) or 1.0
    wide, high = (TIMES - 8) / max(1, count - 1), HIGH - 8
    scale = high / top
    dots = "".join(
        [f"{x}{int(HIGH - 3.5 - scale * value)}h0" for x, value in zip(_places(count), times.seconds, strict=True)]
    )
    bars = "".join(
        f"M{4 + wide * first:.0f} {4 + high * (1 - value / top):.0f}h{wide * (last - first):.0f}"
        for first, last, value in times.levels
    )
    return (
        f'<svg class="times" viewBox="0 0 {TIMES} {HIGH}" width="{TIMES}" height="{HIGH}" role="img"'
        f' aria-label="{words}"><path class="axis" d="M0 {HIGH - 1}h{TIMES}"/><path class="dots" d="{dots}"/>'
        f'<path class="level" d="{bars}"/></svg>'
    )
