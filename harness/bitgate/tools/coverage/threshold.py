"""Whether cases stand on both sides of the thresholds of an operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bitgate.model.space.threshold import Threshold
from bitgate.tools.coverage.ran import Ran


@dataclass(frozen=True)
class ThresholdSide:
    """Cases on one side; ``nearest`` is how far from the edge the closest one is: at best 0 below it, 1 beyond."""

    words: str
    cases: int
    nearest: int | None
    is_possible: bool


@dataclass(frozen=True)
class Crossing:
    """A threshold with its two sides."""

    name: str
    below: ThresholdSide
    beyond: ThresholdSide

    @property
    def missing(self) -> str:
        """The side that could have a case and has none, in words. Empty too where one side cannot be: that is no
        threshold of this kernel."""
        if not (self.below.is_possible and self.beyond.is_possible):
            return ""
        return next((side.words for side in (self.below, self.beyond) if not side.cases), "")


def crossings(thresholds: Sequence[Threshold], ran: Sequence[Ran], possible: Sequence[Ran]) -> list[Crossing]:
    """Every threshold that says something of these cases, of one family. ``possible`` tells which sides there are; an
    option that moves a threshold makes its far side possible too, where else only gigabytes would."""
    found = []
    for threshold in thresholds:
        met, could = _values(threshold, ran), _values(threshold, possible)
        if not met and not could:
            continue
        sides = []
        for is_beyond, words in ((False, threshold.below), (True, threshold.beyond)):
            here = [abs(v - threshold.edge) for v in met if (v > threshold.edge) is is_beyond]
            possibly = any((v > threshold.edge) is is_beyond for v in could)
            forced = is_beyond and any(one.kernel.family.option(threshold.option) for one in (*ran[:1], *possible[:1]))
            sides.append(ThresholdSide(words, len(here), min(here, default=None), possibly or bool(here) or forced))
        found.append(Crossing(threshold.name, *sides))
    return found


def _values(threshold: Threshold, ran: Sequence[Ran]) -> list[int]:
    values = (threshold.quantity(one) for one in ran)
    return [value for value in values if value is not None]
