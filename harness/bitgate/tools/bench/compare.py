"""The arm that is faster on each problem, judged such that picking the luckiest of many instances makes no winner."""

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
"""With fewer rounds to judge by nothing is significant in a sweep of ten shapes."""

CROWDED = 1.5
"""Threads a core, more than kernels on the host have by themselves: one arm may find a core free, the other not."""

SIDES = ("A", "B")

Winner = Literal["A", "tie", "B", "unknown"]


@dataclass(frozen=True)
class BestInstance:
    """The instance that stands for an arm: the fastest of the ``of`` that were timed, with its ``seconds`` a launch."""

    row: Timing
    seconds: Interval
    of: int = 1

    @property
    def words(self) -> str:
        """The kernel as a line for people: ``grouped_fwd.x32 flat_path_gate=off``."""
        return format_kernel(self.row)

    def as_json(self) -> dict[str, Any]:
        kernel = {"kernel": self.row.kernel, "instance": self.row.instance, "options": dict(self.row.options)}
        seconds = {"seconds": self.seconds.median, "low": self.seconds.low, "high": self.seconds.high}
        return kernel | seconds | {"of": self.of, "build": self.row.build}


@dataclass(frozen=True)
class ShapeResult:
    """The comparison of both arms on one shape.

    ``ratio`` is B's time in A's, from medians without the drift that both share, with its interval. ``p`` is 1 where
    nothing was compared; ``least_p`` is the p value if every sample of one arm were below every one of the other.
    ``note`` says what was not timed and why, or why there is no winner.
    """

    name: str
    case: str
    a: BestInstance | None
    b: BestInstance | None
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
        """The share of the slower arm's time that the faster one saves."""
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
        """The number of shapes that each arm won, of ties, and of shapes without a result."""
        return {kind: sum(one.winner == kind for one in self.shapes) for kind in ("A", "tie", "B", "unknown")}

    def as_json(self) -> dict[str, Any]:
        return {
            "wins": self.wins,
            "mean_ratio": mean_ratio(self.shapes),
            "significance": vars(self.significance),
            "shapes": [one.as_json() for one in self.shapes],
        }


def mean_ratio(shapes: Sequence[ShapeResult]) -> float | None:
    """Return the geometric mean of B's time in A's over the compared shapes; None if there are none."""
    ratios = [one.ratio for one in shapes if one.compared]
    return geometric_mean(ratios) if ratios else None


def saved(ratio: float) -> float:
    return 1 - min(ratio, 1 / ratio) if ratio > 0 else 1.0


def format_kernel(row: Timing) -> str:
    return " ".join([f"{row.kernel}.{row.instance}", *(f"{name}={value}" for name, value in row.options.items())])


def compare(rows: Sequence[Timing], significance: Significance) -> SweepComparison:
    """Compare arm A with arm B on each problem, each by its best instance.

    Where an arm has several instances, the first third of the rounds chooses and only the others judge. A winner is
    significant by the rank test after Benjamini and Hochberg over all shapes. It also saves at least the minimum
    effect, and the interval of its ratio is clear of 1.
    """
    shapes: dict[tuple[str, str], dict[Any, Timing]] = {}
    for row in rows:
        shapes.setdefault((row.case, row.name), {})[row.identity] = row  # a later attempt at the same counts
    found = [_compare_shape(list(rows_of_shape.values()), significance) for rows_of_shape in shapes.values()]
    chances = [one.p for one in found if one.compared]
    limit = false_discovery_limit(chances, significance.level)
    return SweepComparison(tuple(_decide(one, limit, len(chances), significance) for one in found), significance)


def _decide(found: ShapeResult, limit: float, compared: int, significance: Significance) -> ShapeResult:
    if not found.compared:
        return found
    significant = found.p <= limit
    clear = found.high < 1 or found.low > 1
    winner: Winner = "tie"
    if significant and clear and found.gain >= significance.minimum_effect:
        winner = "B" if found.ratio < 1 else "A"
    vague = max(saved(found.low), saved(found.high)) >= significance.minimum_effect
    if winner == "tie" and vague and not significant and found.least_p > significance.level / compared:
        why = f"too little data: the rounds judged by are too few to show anything at {100 * significance.level:.3g} %"
        note = "; ".join(filter(None, [why + f" over {compared} shapes" * (compared > 1), found.note]))
        return replace(found, winner="unknown", note=note)
    notes = ["a difference of the minimum effect is not ruled out"] * (winner == "tie" and vague) + [found.note]
    return replace(found, significant=significant, winner=winner, note="; ".join(filter(None, notes)))


def _compare_shape(rows: Sequence[Timing], significance: Significance) -> ShapeResult:
    """Compare both arms on one shape: a tie for now if both were timed."""
    first = rows[0]
    note = "; ".join(_absences(rows))
    sides = {side: [_Samples(row) for row in rows if row.side == side and row.seconds] for side in SIDES}
    timed = {
        side: [one for one in found if one.row.status is TimingStatus.TIMED] or found for side, found in sides.items()
    }
    early = _choosing(list(timed.values()))
    a, b = (_best(found, early) for found in timed.values())
    judging = sorted(a.rounds.keys() & b.rounds.keys() - early) if a and b else []
    best = {side: _best_instance(one, judging, len(timed[side]), significance) for side, one in (("A", a), ("B", b))}
    unknown = ShapeResult(first.name, first.case, best["A"], best["B"], note=note)
    why = _obstacle(a, b, len(judging))
    if why or a is None or b is None:
        return replace(unknown, note="; ".join(filter(None, [why, note])))
    busy = min(one.row.clocks.get("load", (0.0, 0.0))[0] for one in (a, b))
    crowd = [f"others keep the machine busy: {busy:.1f} threads a core want to run"] * (busy > CROWDED)
    bound = [f"{one.row.side} is bound by its launches" for one in (a, b) if one.row.settings.get("launch_bound")]
    every = aligned(np.log(a.of(judging)), np.log(b.of(judging)))
    blocks = [every[number] for number in undisturbed(every)]
    used = sum(len(one) for one, _ in blocks)
    wide = [f"judged by {used} of {len(judging)} rounds: in the rest the machine was disturbed"] * (used < len(judging))
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
    """Return the rounds that choose the best instances: a third of those that both arms have.

    They are taken by twos, whose orders belong together. All rounds choose where only one arm was timed, none where
    there is no choice.
    """
    if all(len(found) < 2 for found in sides):
        return set()
    rounds = [set().union(*(one.rounds for one in found)) for found in sides if found]
    shared = sorted(rounds[0].intersection(*rounds))
    third = len(shared) // 3
    return set(shared[: third - third % 2 or third] if len(rounds) > 1 else shared)


def _best_instance(
    one: _Samples | None, judging: Sequence[int], of: int, significance: Significance
) -> BestInstance | None:
    if one is None:
        return None
    return BestInstance(one.row, median_interval(one.of(judging) or one.row.seconds, significance), of)


class _Samples:
    """The samples of one row, merged to one a round: those within a round are not independent."""

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


def _obstacle(a: _Samples | None, b: _Samples | None, rounds: int) -> str:
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
    """Yield what was not timed: each defect by itself, other rows of one kind together with the reason of the first."""
    alike: dict[tuple[str, ...], list[Timing]] = {}
    for row in rows:
        if row.side in SIDES and row.status is not TimingStatus.TIMED:
            defect = _reason(row) if row.status in (TimingStatus.NOT_VERIFIED, TimingStatus.FAILED) else ""
            alike.setdefault((row.side, row.status.value, defect), []).append(row)
    for (side, status, _), found in alike.items():
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        why = _reason(found[0])
        yield f"{side}: {format_kernel(found[0])}{more} {status}" + (f" ({why})" if why else "")


def _reason(row: Timing) -> str:
    verdict = "" if row.verdict == Outcome.PASS.value else row.verdict
    return ": ".join(filter(None, [verdict, row.reason]))


def _ratio(blocks: Sequence[tuple[Floats, Floats]], significance: Significance) -> Interval:
    """Return the median ratio of each sample of B to each of A, with its interval.

    It is taken from logarithms: the estimate that belongs to the test (Hodges and Lehmann, Ann. Math. Statist. 34,
    1963), less sensitive to a few samples than the ratio of medians. Rounds are resampled whole, so that what a round
    shares stays shared.
    """
    a, b = (np.concatenate(side) for side in zip(*blocks, strict=True))
    rounds = len(a)
    drawn = resampled(rounds, significance.resamples, 0, rounds * rounds)
    found = np.concatenate([_shift(a[chosen], b[chosen]) for chosen in drawn])
    low, high = limits(np.exp(found), significance.confidence)
    return Interval(float(np.exp(_shift(a[None], b[None])[0])), low, high)


def _shift(a: Floats, b: Floats) -> Floats:
    """Return row by row the median of all differences."""
    differences = b[:, :, None] - a[:, None, :]
    return np.asarray(np.median(differences.reshape(len(a), -1), axis=1))
