"""Solver for the cases of a tier: pinned ones, then those that cover and kill most for their seconds.

What a case is good for is a set of features, numbered and weighted by whoever asks (``coverage.features``): a pair of
factor classes that it has, a seeded defect that it killed, an instance that it runs. Greedy by gain a second, which for
such sums is never far from the best there is.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitgate.results.plan import PlannedItem

LEAST_SECONDS = 0.005
"""What a case costs at least, so that estimates of nothing do not win everything."""


@dataclass(frozen=True, eq=False)
class FeaturedCase:
    """A case that a tier may hold, and the numbers of its features."""

    item: PlannedItem
    features: NDArray[np.int64]

    @property
    def seconds(self) -> float:
        return max(LEAST_SECONDS, self.item.seconds)


@dataclass(frozen=True)
class Chosen:
    """Chosen case with its ``gain``: the weight of features that no case chosen before has."""

    item: PlannedItem
    seconds: float
    gain: float
    is_pinned: bool = False


@dataclass(frozen=True, eq=False)
class Solution:
    """Solution with flags of the features that the chosen cases have (``covered``) and any candidate has
    (``possible``)."""

    chosen: tuple[Chosen, ...]
    covered: NDArray[np.bool_]
    possible: NDArray[np.bool_]

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.chosen)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(one.item.id for one in self.chosen)


def solve(candidates: Sequence[FeaturedCase], weights: NDArray[np.float64], budget: float) -> Solution:
    """Cases of at most ``budget`` seconds together; pinned ones are in, whatever they cost.

    For a pinned problem the cheapest case represents all of its instances, types and layouts.
    """
    covered = np.zeros(len(weights), dtype=np.bool_)
    possible = np.zeros(len(weights), dtype=np.bool_)
    for candidate in candidates:
        possible[candidate.features] = True
    chosen: list[Chosen] = []

    def take(candidate: FeaturedCase, is_pinned: bool) -> None:
        chosen.append(Chosen(candidate.item, candidate.seconds, _gain(candidate, weights, covered), is_pinned))
        covered[candidate.features] = True

    pinned = _pinned(candidates)
    for candidate in pinned:
        take(candidate, True)
    left = budget - sum(one.seconds for one in chosen)
    taken = {candidate.item.id for candidate in pinned}
    # A gain only shrinks as others are chosen: what stood on top and still does, with its gain of now, is the best.
    heap = [
        (-_gain(candidate, weights, covered) / candidate.seconds, candidate.item.id, index)
        for index, candidate in enumerate(candidates)
        if candidate.item.id not in taken
    ]
    heapq.heapify(heap)
    while heap:
        _, name, index = heapq.heappop(heap)
        candidate = candidates[index]
        gain = _gain(candidate, weights, covered)
        if gain <= 0 or candidate.seconds > left:
            continue
        rate = -gain / candidate.seconds
        if heap and rate > heap[0][0]:
            heapq.heappush(heap, (rate, name, index))
            continue
        left -= candidate.seconds
        take(candidate, False)
    return Solution(tuple(chosen), covered, possible)


def covered_by(candidates: Sequence[FeaturedCase], ids: frozenset[str], count: int) -> NDArray[np.bool_]:
    """Return the features that these cases have together."""
    covered = np.zeros(count, dtype=np.bool_)
    for candidate in candidates:
        if candidate.item.id in ids:
            covered[candidate.features] = True
    return covered


def _gain(candidate: FeaturedCase, weights: NDArray[np.float64], covered: NDArray[np.bool_]) -> float:
    new = candidate.features[~covered[candidate.features]]
    return float(weights[new].sum())


def _pinned(candidates: Sequence[FeaturedCase]) -> list[FeaturedCase]:
    """Return one case for each pinned shape of a suite, the cheapest, in the order of the plan."""
    best: dict[tuple[str, str], FeaturedCase] = {}
    for candidate in candidates:
        item = candidate.item
        if not item.pin:
            continue
        key = (item.pin, item.why)
        if key not in best or candidate.seconds < best[key].seconds:
            best[key] = candidate
    return list(best.values())
