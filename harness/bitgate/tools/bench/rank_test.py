"""Do two sides that were timed in turns differ? A Mann-Whitney U test whose ranks the drift of a device does not reach.

The rounds are cut into blocks of a few, each block's own median is taken off its samples, and all of them are ranked
together (aligned ranks: Hodges and Lehmann, Ann. Math. Statist. 33, 1962). Under the hypothesis that the sides are
alike, any samples of a block could have been those of side A; the distribution of A's rank sum over all such choices
is computed, not approximated, ties included. With one block this is the exact Mann-Whitney U test.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

BLOCK = 4
"""Rounds that a drift is slow against."""
DISTURBED = 4.0
"""Times the spread of the quiet blocks: so much wider a block tells nothing of the few percent that are asked for."""
QUIET = 0.2
"""The share of blocks that are taken for quiet, whatever the rest is."""
FEWEST_BLOCKS = 2
FAR = 5.0
"""Standard deviations, told from the median absolute one, that make a sample an outlier."""

Floats = NDArray[np.float64]


def aligned(a: Floats, b: Floats, block: int = BLOCK) -> list[tuple[Floats, Floats]]:
    """Both sides block by block, without the block's level. Place i of each side is round i."""
    pairs = []
    for places in np.array_split(np.arange(len(a)), max(1, round(len(a) / block))):
        level = np.median(np.concatenate([a[places], b[places]]))
        pairs.append((a[places] - level, b[places] - level))
    return pairs


def undisturbed(blocks: Sequence[tuple[Floats, Floats]]) -> list[int]:
    """The numbers of the blocks in which the machine did nothing else, two at least: one whose cores others take for a
    stretch of rounds gives samples twice as long, or not, whichever side they are of. The spread of a block is from its
    fastest sample to its median, of both sides together: which side a sample is of does not matter for that, so the
    sides that are alike stay so."""
    spreads = np.array([_spread(np.concatenate(pair)) for pair in blocks])
    most = max(DISTURBED * np.quantile(spreads, QUIET), np.sort(spreads)[:FEWEST_BLOCKS][-1])
    return [int(number) for number in np.flatnonzero(spreads <= most)]


def _spread(samples: Floats) -> float:
    return float(np.median(samples) - samples.min())


def without_outliers(blocks: Sequence[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
    """Less the samples that are far from all the others of both sides. Which side one is of does not matter for that,
    so the sides that are alike stay so."""
    far = _far(blocks)
    return [(a[np.abs(a) <= far], b[np.abs(b) <= far]) for a, b in blocks]


def whole_rounds(blocks: Sequence[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
    """Less the rounds with such a sample."""
    far = _far(blocks)
    near = [(np.abs(a) <= far) & (np.abs(b) <= far) for a, b in blocks]
    return [(a[both], b[both]) for (a, b), both in zip(blocks, near, strict=True)]


def _far(blocks: Sequence[tuple[Floats, Floats]]) -> float:
    return FAR * 1.4826 * float(np.median(np.abs(np.concatenate([np.concatenate(pair) for pair in blocks]))))


def rank_test(blocks: Sequence[tuple[Floats, Floats]]) -> float:
    """The two-sided p value of both sides being alike."""
    sizes = [(len(a), len(b)) for a, b in blocks]
    ranks = _doubled_ranks(np.concatenate([np.concatenate(pair) for pair in blocks]))
    chances = np.ones(1)
    total = first = 0
    for of_a, of_b in sizes:
        mine = ranks[first : first + of_a + of_b]
        first += of_a + of_b
        total += int(mine[:of_a].sum())
        chances = np.convolve(chances, _chances_of_sum(mine, of_a))
    return float(min(1.0, 2 * min(chances[: total + 1].sum(), chances[total:].sum())))


def least_chance(blocks: Sequence[tuple[Floats, Floats]]) -> float:
    """The p value of samples so many without ties, if all of one side were below all of the other: none is less."""
    return min(1.0, 2 / prod(comb(len(a) + len(b), len(a)) for a, b in blocks))


def _doubled_ranks(values: Floats) -> NDArray[np.int64]:
    """From 2; ties share the mean of their ranks, which doubled is whole."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((2 * last - counts + 1)[place], dtype=np.int64)


def _chances_of_sum(ranks: NDArray[np.int64], chosen: int) -> Floats:
    """By sum: the share of all choices of so many of the ranks that have it."""
    ways = np.zeros((chosen + 1, int(ranks.sum()) + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank]
    return np.asarray(ways[chosen] / ways[chosen].sum())


def false_discovery_limit(chances: Sequence[float], level: float) -> float:
    """Benjamini and Hochberg, J. R. Statist. Soc. B 57, 1995: what is at most so likely is significant, so that of all
    that is called so a share of ``level`` at most is not. -1 where nothing is."""
    ordered = sorted(chances)
    passed = [p for place, p in enumerate(ordered, 1) if p <= level * place / len(ordered)]
    return passed[-1] if passed else -1.0
