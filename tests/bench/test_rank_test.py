"""The test that decides on a winner, compared with published values and the law that it rests on."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, prod
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.tools.bench.rank_test import (
    aligned,
    false_discovery_limit,
    rank_test,
    undisturbed,
    whole_rounds,
    without_outliers,
)


def of(*blocks: tuple[list[float], list[float]]) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.array(a, dtype=float), np.array(b, dtype=float)) for a, b in blocks]


def test_one_block_is_the_exact_test_of_mann_and_whitney() -> None:
    """Ann. Math. Statist. 18, 1947, Table I: P(U <= u) for samples of 5 and 5, of 3 and 4."""
    assert rank_test(of(([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]))) == pytest.approx(2 * 0.004, abs=1e-3)
    assert rank_test(of(([1, 2, 3, 4, 7], [5, 6, 8, 9, 10]))) == pytest.approx(2 / 252 * (1 + 1 + 2))
    assert rank_test(of(([1, 2, 3], [4, 5, 6, 7]))) == pytest.approx(2 * 0.028, abs=2e-3)


def test_the_critical_values_of_the_tables() -> None:
    """Two-sided 5 %: U = 2 for 5 and 5, U = 23 for 10 and 10 are the greatest that are significant."""

    def with_u(size: int, u: int) -> float:
        """All of A is below all of B, but that its largest passes the ``u`` smallest of B, ``size`` at most each."""
        a = [float(place) for place in range(size)]
        for place in range(size - 1, -1, -1):
            step = min(u, size)
            a[place] += step * 1000 if step else 0.0
            u -= step
        b = [float(1000 * place + 500) for place in range(size)]
        return rank_test(of((a, b)))

    assert with_u(5, 2) < 0.05 < with_u(5, 3)
    assert with_u(10, 23) < 0.05 < with_u(10, 24)


VALUES = st.lists(st.integers(0, 4), min_size=1, max_size=3)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=2))
def test_the_distribution_is_that_of_all_choices(told: list[tuple[list[int], list[int]]]) -> None:
    """Any samples of a block could have been A's: counted out, ties and all."""
    blocks = of(*[([float(x) for x in a], [float(x) for x in b]) for a, b in told])
    everything = np.concatenate([np.concatenate(pair) for pair in blocks])
    ranks = np.array([2 * (everything < x).sum() + (everything == x).sum() + 1 for x in everything])
    sums, first, mine = [], 0, 0
    for a, b in blocks:
        places = range(first, first + len(a) + len(b))
        sums.append([int(sum(ranks[list(chosen)])) for chosen in combinations(places, len(a))])
        mine += int(ranks[first : first + len(a)].sum())
        first += len(a) + len(b)
    every = np.array([sum(chosen) for chosen in product(*sums)])
    assert len(every) == prod(comb(len(a) + len(b), len(a)) for a, b in blocks)
    expected = min(1.0, 2 * min((every <= mine).mean(), (every >= mine).mean()))
    assert rank_test(blocks) == pytest.approx(expected)


SAMPLES = st.lists(st.floats(-1, 1), min_size=4, max_size=9)


@given(SAMPLES, SAMPLES)
def test_the_sides_may_change_places(a: list[float], b: list[float]) -> None:
    assert rank_test(of((a, b))) == pytest.approx(rank_test(of((b, a))))


def test_a_drift_that_both_share_is_none_of_their_difference() -> None:
    """The clock falls by one percent a round; B is two percent slower, which the drift would bury."""
    draw = np.random.default_rng(3)
    drift = 0.01 * np.arange(20)
    a, b = drift + draw.normal(0, 0.005, 20), drift + draw.normal(0.02, 0.005, 20)
    assert rank_test(of((list(a), list(b)))) > 0.2
    assert rank_test(aligned(a, b)) < 0.001


def test_blocks_in_which_others_had_the_cores_are_left_out() -> None:
    draw = np.random.default_rng(0)
    a, b = (np.log(draw.normal(100, 1, 20)) for _ in "AB")
    for side in (a, b):
        side[8:16] += draw.uniform(0.1, 1.2, 8)
    blocks = aligned(a, b + 0.05)
    assert undisturbed(blocks) == [0, 1, 4]
    assert rank_test([blocks[number] for number in undisturbed(blocks)]) < 1e-5 < rank_test(blocks)


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=6), st.randoms())
def test_which_blocks_are_left_out_does_not_depend_on_the_sides(told: list[list[float]], random: Random) -> None:
    one = of(*[(values[:2], values[2:]) for values in told])
    other = of(*[(mixed[:2], mixed[2:]) for values in told for mixed in [random.sample(values, 4)]])
    assert undisturbed(one) == undisturbed(other)
    assert len(undisturbed(one)) >= min(2, len(told))


def test_an_outlier_is_left_out_whichever_side_it_is_of() -> None:
    ((a, b),) = without_outliers(of(([0.0, 0.01, -0.01, 0.4], [0.005, -0.4, 0.02, -0.02])))
    assert (list(a), list(b)) == ([0.0, 0.01, -0.01], [0.005, 0.02, -0.02])


def test_a_round_with_an_outlier_is_left_out_as_a_whole() -> None:
    (block,) = whole_rounds(of(([1, 2, 900, 3, 2], [2, 1, 2, -900, 3])))
    assert [side.tolist() for side in block] == [[1, 2, 2], [2, 1, 3]]


def test_sides_far_from_each_other_are_no_outliers() -> None:
    a, b = np.full(10, 1.0) + np.arange(10) * 1e-3, np.full(10, 1.5) + np.arange(10) * 1e-3
    blocks = aligned(a, b)
    assert sum(len(side) for pair in without_outliers(blocks) for side in pair) == 20
    assert rank_test(without_outliers(blocks)) < 1e-3


def test_the_limit_of_benjamini_and_hochberg() -> None:
    """The example of their paper, section 3.2: 15 hypotheses, four of which are rejected at 5 %."""
    told = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    told += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert false_discovery_limit(told, 0.05) == 0.0095
    assert false_discovery_limit([0.5, 0.9], 0.05) == -1
    assert false_discovery_limit([], 0.05) == -1
