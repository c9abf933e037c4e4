"""A test whether two arms that were timed interleaved differ: a Mann-Whitney U test that a device's drift does not
reach.

The rounds are cut into blocks of a few, each block's median is taken off its samples, and all of them are ranked
together (aligned ranks: Hodges and Lehmann, Ann. Math. Statist. 33, 1962). Under the hypothesis that the arms are
alike, any samples of a block could have been those of arm A. The distribution of A's rank sum over all such choices is
computed, not approximated, ties included. With one block this is the exact Mann-Whitney U test.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

BLOCK = 4
"""Rounds within which a drift is small."""
DISTURBED = 4.0
"""Multiple of the spread of quiet blocks: a block that is wider cannot show a difference of a few percent."""
QUIET = 0.2
"""The share of blocks that are taken for quiet, whatever the rest is."""
FEWEST_BLOCKS = 2
FAR = 5.0
"""Standard deviations, estimated from the median absolute one, that make a sample an outlier."""

Floats = NDArray[np.float64]


def aligned(a: Floats, b: Floats, block: int = BLOCK) -> list[tuple[Floats, Floats]]:
    """Cut both arms into blocks and subtract each block's level. Place i of each arm is round i."""
    pairs = []
    for places in np.array_split(np.arange(len(a)), max(1, round(len(a) / block))):
        level = np.median(np.concatenate([a[places], b[places]]))
        pairs.append((a[places] - level, b[places] - level))
    return pairs


def undisturbed(blocks: Sequence[tuple[Floats, Floats]]) -> list[int]:
    """Return the numbers of the blocks in which the machine did nothing else, at least two.

    Where other programs take the cores for some rounds, samples of either arm take twice as long. The spread of a block
    is from its fastest sample to its median, over both arms. It does not depend on the arm of a sample, so arms that
    are alike stay alike.
    """
    spreads = np.array([_spread(np.concatenate(pair)) for pair in blocks])
    most = max(DISTURBED * np.quantile(spreads, QUIET), np.sort(spreads)[:FEWEST_BLOCKS][-1])
    return [int(number) for number in np.flatnonzero(spreads <= most)]


def _spread(samples: Floats) -> float:
    return float(np.median(samples) - samples.min())


def without_outliers(blocks: Sequence[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
    """Drop the samples that are far from all the others of both arms.

    Which arm a sample is of does not matter for that, so arms that are alike stay alike.
    """
    far = _far(blocks)
    return [(a[np.abs(a) <= far], b[np.abs(b) <= far]) for a, b in blocks]


def whole_rounds(blocks: Sequence[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
    """Drop the rounds that have an outlier."""
    far = _far(blocks)
    near = [(np.abs(a) <= far) & (np.abs(b) <= far) for a, b in blocks]
    return [(a[both], b[both]) for (a, b), both in zip(blocks, near, strict=True)]


def _far(blocks: Sequence[tuple[Floats, Floats]]) -> float:
    return FAR * 1.4826 * float(np.median(np.abs(np.concatenate([np.concatenate(pair) for pair in blocks]))))


def rank_test(blocks: Sequence[tuple[Floats, Floats]]) -> float:
    """Return the two-sided p value of the hypothesis that both arms are alike."""
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
    """Return the least p value for this number of samples without ties: all of one arm below all of the other."""
    return min(1.0, 2 / prod(comb(len(a) + len(b), len(a)) for a, b in blocks))


def _doubled_ranks(values: Floats) -> NDArray[np.int64]:
    """Return ranks from 2 on; ties share the mean of their ranks, which is whole when doubled."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((2 * last - counts + 1)[place], dtype=np.int64)


def _chances_of_sum(ranks: NDArray[np.int64], chosen: int) -> Floats:
    """Return for each sum the share of all choices of ``chosen`` ranks that have it."""
    ways = np.zeros((chosen + 1, int(ranks.sum()) + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank]
    return np.asarray(ways[chosen] / ways[chosen].sum())


def false_discovery_limit(chances: Sequence[float], level: float) -> float:
    """Return the greatest p value that is significant after Benjamini and Hochberg (J. R. Statist. Soc. B 57, 1995).

    A share of ``level`` at most of what is significant by it is not. -1 where nothing is.
    """
    ordered = sorted(chances)
    passed = [p for place, p in enumerate(ordered, 1) if p <= level * place / len(ordered)]
    return passed[-1] if passed else -1.0
