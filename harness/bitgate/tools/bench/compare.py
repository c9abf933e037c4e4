"""Which side is faster on which problem, so that picking the luckiest of many instances makes no winner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import Any, Literal

import numpy as np

from bitgate.results.record import Outcome
from bitgate.results.record.timing import Timing, TimingStatus
from bitgate.tools.bench.interval import Interval, limits, median_interval, resampled
from bitgate.tools.bench.rank_test import (
    Floats,
    aligned,
    false_discovery_limit,
    least_chance,
    rank_test,
    undisturbed,
    whole_rounds,
    without_outliers,
)
from bitgate.tools.bench.settings import Significance

LEAST_ROUNDS = 6
"""Judged by fewer, nothing is significant in a sweep of ten shapes."""

CROWDED = 1.5
"""Threads a core, more than kernels on the host have by themselves: one side may find a core free, the other not."""

SIDES = ("A", "B")

Winner = Literal["A", "tie", "B", "unknown"]


@dataclass(frozen=True)
class BestInstances:
    """The instance that stands for a side: the fastest of the ``of`` that were timed. ``seconds`` a launch."""

    row: Timing
    seconds: Interval
    of: int = 1

    @property
    def words(self) -> str:
        """``grouped_fwd.x32 flat_path_gate=off``"""
        return kernel_words(self.row)

    def as_json(self) -> dict[str, Any]:
        kernel = {"kernel": self.row.kernel, "instance": self.row.instance, "options": dict(self.row.options)}
        seconds = {"seconds": self.seconds.median, "low": self.seconds.low, "high": self.seconds.high}
        return kernel | seconds | {"of": self.of, "build": self.row.build}


@dataclass(frozen=True)
class ShapeResult:
    """``ratio``: B's time in A's, of medians without the drift that both share, with its interval. ``p`` is 1 where
    nothing was compared; ``least_p`` is what it would be were every sample of one side below every one of the other.
    ``note``: what was not timed and why, or why there is no winner."""

    name: str
    case: str
    a: BestInstances | None
    b: BestInstances | None
    ratio: float = 1.0
    low: float = 1.0
    high: float = 1.0
    p: float = 1.0
    least_p: float = 0.0
    significant: bool = False
    winner: Winner = "unknown"
    note: str = ""

    @property
    def compared(self) -> bool:
        return self.winner != "unknown"

    @property
    def gain(self) -> float:
        """The share of the slower side's time that the faster one saves."""
        return saved(self.ratio)

    def as_json(self) -> dict[str, Any]:
        best = {side: one.as_json() if one else None for side, one in (("a", self.a), ("b", self.b))}
        return {**vars(self), **best}


@dataclass(frozen=True)
class SweepComparison:
    """The shapes of a sweep in the order in which they were timed."""

    shapes: tuple[ShapeResult, ...]
    significance: Significance

    @property
    def wins(self) -> dict[str, int]:
        """How many shapes each side won; ties; and those of which nothing can be said."""
        return {kind: sum(one.winner == kind for one in self.shapes) for kind in ("A", "tie", "B", "unknown")}

    def as_json(self) -> dict[str, Any]:
        return {
            "wins": self.wins,
            "mean_ratio": mean_ratio(self.shapes),
            "significance": vars(self.significance),
            "shapes": [one.as_json() for one in self.shapes],
        }


def mean_ratio(shapes: Sequence[ShapeResult]) -> float | None:
    """The geometric mean of B's time in A's over those that were compared; None: none was."""
    ratios = [one.ratio for one in shapes if one.compared]
    return geometric_mean(ratios) if ratios else None


def saved(ratio: float) -> float:
    return 1 - min(ratio, 1 / ratio) if ratio > 0 else 1.0


def kernel_words(row: Timing) -> str:
    return " ".join([f"{row.kernel}.{row.instance}", *(f"{name}={value}" for name, value in row.options.items())])


def compare(rows: Sequence[Timing], significance: Significance) -> SweepComparison:
    """Side A beside side B: on each problem the best instance of each.

    Where a side has several instances, the first third of the rounds chooses and only the others judge. A winner is
    significant by the rank test after Benjamini and Hochberg over all shapes, saves at least the minimum effect, and
    the interval of its ratio is clear of 1.
    """
    shapes: dict[tuple[str, str], dict[Any, Timing]] = {}
    for row in rows:
        shapes.setdefault((row.case, row.name), {})[row.identity] = row  # a later attempt at the same counts
    found = [_shape(list(of_shape.values()), significance) for of_shape in shapes.values()]
    chances = [one.p for one in found if one.compared]
    limit = false_discovery_limit(chances, significance.level)
    return SweepComparison(tuple(_judged(one, limit, len(chances), significance) for one in found), significance)


def _judged(found: ShapeResult, limit: float, compared: int, wanted: Significance) -> ShapeResult:
    if not found.compared:
        return found
    significant = found.p <= limit
    clear = found.high < 1 or found.low > 1
    winner: Winner = "tie"
    if significant and clear and found.gain >= wanted.minimum_effect:
        winner = "B" if found.ratio < 1 else "A"
    vague = max(saved(found.low), saved(found.high)) >= wanted.minimum_effect
    if winner == "tie" and vague and not significant and found.least_p > wanted.level / compared:
        why = f"too little data: the rounds judged by are too few to show anything at {100 * wanted.level:.3g} %"
        note = "; ".join(filter(None, [why + f" over {compared} shapes" * (compared > 1), found.note]))
        return replace(found, winner="unknown", note=note)
    notes = ["a difference of the minimum effect is not ruled out"] * (winner == "tie" and vague) + [found.note]
    return replace(found, significant=significant, winner=winner, note="; ".join(filter(None, notes)))


def _shape(rows: Sequence[Timing], significance: Significance) -> ShapeResult:
    """A tie for now if both sides were timed."""
    first = rows[0]
    note = "; ".join(_absences(rows))
    sides = {side: [_Samples(row) for row in rows if row.side == side and row.seconds] for side in SIDES}
    timed = {
        side: [one for one in found if one.row.status is TimingStatus.TIMED] or found for side, found in sides.items()
    }
    early = _choosing(list(timed.values()))
    a, b = (_best(found, early) for found in timed.values())
    judging = sorted(a.rounds.keys() & b.rounds.keys() - early) if a and b else []
    best = {side: _told(one, judging, len(timed[side]), significance) for side, one in (("A", a), ("B", b))}
    unknown = ShapeResult(first.name, first.case, best["A"], best["B"], note=note)
    why = _why_not(a, b, len(judging))
    if why or a is None or b is None:
        return replace(unknown, note="; ".join(filter(None, [why, note])))
    busy = min(one.row.clocks.get("load", (0.0, 0.0))[0] for one in (a, b))
    crowd = [f"others keep the machine busy: {busy:.1f} threads a core want to run"] * (busy > CROWDED)
    bound = [f"{one.row.side} is bound by its launches" for one in (a, b) if one.row.settings.get("launch_bound")]
    every = aligned(np.log(a.of(judging)), np.log(b.of(judging)))
    blocks = [every[number] for number in undisturbed(every)]
    told = sum(len(one) for one, _ in blocks)
    wide = [f"judged by {told} of {len(judging)} rounds: in the rest the machine was disturbed"] * (told < len(judging))
    whole = whole_rounds(blocks)
    has_enough = sum(len(one) for one, _ in whole) >= LEAST_ROUNDS
    ratio, low, high = _ratio(whole if has_enough else blocks, significance)
    kept = without_outliers(blocks)
    return replace(
        unknown,
        ratio=ratio,
        low=low,
        high=high,
        p=rank_test(kept),
        least_p=least_chance(kept),
        winner="tie",
        note="; ".join([*crowd, *wide, *bound, note]).strip("; "),
    )


def _choosing(sides: Sequence[Sequence[_Samples]]) -> set[int]:
    """The rounds that choose: a third of those that both sides have, by twos, whose orders belong together; all where
    only one side was timed; none where there is no choice."""
    if all(len(found) < 2 for found in sides):
        return set()
    rounds = [set().union(*(one.rounds for one in found)) for found in sides if found]
    shared = sorted(rounds[0].intersection(*rounds))
    third = len(shared) // 3
    return set(shared[: third - third % 2 or third] if len(rounds) > 1 else shared)


def _told(one: _Samples | None, judging: Sequence[int], of: int, significance: Significance) -> BestInstances | None:
    if one is None:
        return None
    return BestInstances(one.row, median_interval(one.of(judging) or one.row.seconds, significance), of)


class _Samples:
    """The samples of one row: one a round, as those of one round are no news of each other."""

    def __init__(self, row: Timing) -> None:
        self.row = row
        parts: dict[int, list[float]] = {}
        for place, seconds in zip(row.rounds, row.seconds, strict=True):
            parts.setdefault(place, []).append(seconds)
        self.rounds = {place: float(np.median(seconds)) for place, seconds in parts.items()}

    def of(self, rounds: Sequence[int]) -> list[float]:
        return [self.rounds[place] for place in rounds if place in self.rounds]


def _best(candidates: Sequence[_Samples], early: set[int]) -> _Samples | None:
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    place = _least_median(early)
    return min(candidates, key=place)


def _least_median(early: set[int]) -> Callable[[_Samples], float]:
    def median(one: _Samples) -> float:
        seen = one.of(sorted(early))
        return float(np.median(seen)) if seen else float("inf")

    return median


def _why_not(a: _Samples | None, b: _Samples | None, rounds: int) -> str:
    absent = [side for side, one in (("A", a), ("B", b)) if one is None]
    if a is None or b is None:
        return f"{' and '.join(absent)} not timed"
    if a.row.run != b.row.run:
        return "A and B were timed in different runs"
    if min(map(min, (a.row.seconds, b.row.seconds))) <= 0:
        return "a sample of 0 s: the clock is too coarse for it"
    if rounds < LEAST_ROUNDS:
        return f"too little data: {rounds} rounds of both to judge by, {LEAST_ROUNDS} are needed"
    return ""


def _absences(rows: Sequence[Timing]) -> Iterator[str]:
    """What was not timed: each defect by itself, the rest of one kind together, with the first one's reason."""
    alike: dict[tuple[str, ...], list[Timing]] = {}
    for row in rows:
        if row.side in SIDES and row.status is not TimingStatus.TIMED:
            defect = _why(row) if row.status in (TimingStatus.NOT_VERIFIED, TimingStatus.FAILED) else ""
            alike.setdefault((row.side, row.status.value, defect), []).append(row)
    for (side, status, _), found in alike.items():
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        why = _why(found[0])
        yield f"{side}: {kernel_words(found[0])}{more} {status}" + (f" ({why})" if why else "")


def _why(row: Timing) -> str:
    verdict = "" if row.verdict == Outcome.PASS.value else row.verdict
    return ": ".join(filter(None, [verdict, row.reason]))


def _ratio(blocks: Sequence[tuple[Floats, Floats]], significance: Significance) -> Interval:
    """The median of the ratios of each sample of B to each of A, from logarithms: the estimate that belongs to the test
    (Hodges and Lehmann, Ann. Math. Statist. 34, 1963), less at the mercy of a few samples than the ratio of medians.
    Rounds are resampled whole, so that what a round shares stays so."""
    a, b = (np.concatenate(side) for side in zip(*blocks, strict=True))
    rounds = len(a)
    drawn = resampled(rounds, significance.resamples, 0, rounds * rounds)
    found = np.concatenate([_shift(a[chosen], b[chosen]) for chosen in drawn])
    low, high = limits(np.exp(found), significance.confidence)
    return Interval(float(np.exp(_shift(a[None], b[None])[0])), low, high)


def _shift(a: Floats, b: Floats) -> Floats:
    """Row by row the median of all differences."""
    differences = b[:, :, None] - a[:, None, :]
    return np.asarray(np.median(differences.reshape(len(a), -1), axis=1))
