"""Where a series of timings stepped for good."""

from __future__ import annotations

import re
from itertools import combinations
from math import log
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.history.timed_nights import History, of

from bitgate.lab.history.levels import ENOUGH_NIGHTS, clipped, cuts, levels, spread

VALUES = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=9)


def cost(values: list[float], starts: tuple[int, ...], penalty: float) -> float:
    pieces = [values[a:b] for a, b in zip(starts, [*starts[1:], len(values)], strict=True)]
    return sum(abs(one - median(piece)) for piece in pieces for one in piece) + penalty * len(pieces)


@given(VALUES, st.floats(0.1, 10), st.integers(1, 3))
def test_no_way_to_cut_costs_less(values: list[float], penalty: float, least: int) -> None:
    least = min(least, len(values))
    ways = [
        (0, *places)
        for count in range(len(values))
        for places in combinations(range(1, len(values)), count)
        if min(b - a for a, b in zip((0, *places), (*places, len(values)), strict=True)) >= least
    ]
    found = tuple(cuts(values, penalty, least))
    assert found in ways
    assert cost(values, found, penalty) == pytest.approx(min(cost(values, way, penalty) for way in ways))


def drawn(words: str) -> list[tuple[int, int]]:
    """``_`` is a night of 1 ms, ``-`` of 1.1 ms, ``^`` of 1.5 ms: the levels that are seen, each a bit noisy."""
    height = {"_": 1e-3, "-": 1.1e-3, "^": 1.5e-3}
    noise = np.random.default_rng(0).lognormal(0, 0.005, len(words))
    seconds = [height[one] * wobble for one, wobble in zip(words, noise, strict=True)]
    return [(level.first, level.last) for level in levels(seconds)]


def test_a_level_is_what_lasts() -> None:
    assert drawn("____________--------") == [(0, 11), (12, 19)]
    assert drawn("________--------________") == [(0, 7), (8, 15), (16, 23)]
    assert drawn("____________________") == [(0, 19)]


def test_single_nights_are_no_level() -> None:
    assert drawn("______^_______^_____") == [(0, 19)]
    assert drawn("_______^^___________") == [(0, 19)]
    assert drawn("__________----^-------") == [(0, 9), (10, 21)]
    assert drawn("____________________--") == [(0, 21)], "it may be one odd weekend"


def test_of_a_few_nights_nothing_is_said() -> None:
    short = of([1e-3] * 3 + [2e-3] * 4)
    assert (len(short.levels), short.steps, short.enough) == (1, [], False)
    assert short.words == "too little data: 7 nights, 8 are needed"
    assert of([1e-3] * 4 + [2e-3] * 4).words == "slower by 100.0 % since night-04"
    assert levels([]) == []
    assert ENOUGH_NIGHTS == 8


@pytest.mark.parametrize("nights", range(1, 8))
@pytest.mark.parametrize("comes", ["first", "last"])
def test_a_step_is_reported_from_its_fourth_night_on(nights: int, comes: str) -> None:
    draw = np.random.default_rng(nights)
    before, after = draw.lognormal(0, 0.01, 30), 2 * draw.lognormal(0, 0.01, nights)
    found = levels([*before, *after] if comes == "last" else [*after, *before])
    place = 30 if comes == "last" else nights
    assert [level.first for level in found] == ([0, place] if nights >= 4 else [0])


def test_the_noise_is_told_whatever_steps_there_are() -> None:
    draw = np.random.default_rng(1)
    values = [log(one) for one in draw.lognormal(0, 0.02, 80)]
    stepped = [one + 0.5 * (place > 40) + 0.4 * (place % 19 == 0) for place, one in enumerate(values)]
    assert spread(values) == pytest.approx(0.02, rel=0.4)
    assert spread(stepped) == pytest.approx(spread(values), rel=0.4)
    assert spread([0.0] * 20) > 0, "no clock is perfect"


def test_an_outlier_is_cut_and_a_step_is_not() -> None:
    steady = [0.0, 0.1] * 5
    assert clipped([*steady, 9.0, *steady], 0.3)[10] <= 0.4
    assert clipped([0.0] * 10 + [1.0] * 10, 0.3) == [0.0] * 10 + [1.0] * 10


@given(st.lists(st.floats(1e-6, 1e2), max_size=30))
def test_levels_cover_every_night_once(seconds: list[float]) -> None:
    nights = [night for level in levels(seconds) for night in range(level.first, level.last + 1)]
    assert nights == list(range(len(seconds)))


@given(st.integers(0, 2**16), st.floats(0.01, 100))
def test_the_unit_of_time_does_not_matter(seed: int, factor: float) -> None:
    seconds = History(step=1.1).seconds(np.random.default_rng(seed))
    places = [(one.first, one.last) for one in levels(seconds)]
    assert [(one.first, one.last) for one in levels([factor * one for one in seconds])] == places


def test_a_step_of_five_percent_is_found_and_none_invented() -> None:
    """2 % of noise, one night in twenty takes 1.5 times as long. `python benchmarks/steps.py` has more."""
    draw = np.random.default_rng(0)
    false = sum(bool(History().timed(draw).steps) for _ in range(100))
    found = 0
    for _ in range(100):
        one = History(step=1.05).timed(draw)
        found += one.regression is not None and abs(one.steps[0].place - 30) <= 5
    assert false <= 1
    assert found >= 95


def test_a_step_that_nobody_cares_for_is_not_told() -> None:
    draw = np.random.default_rng(0)
    little = History(step=1.015, noise=0.001, outliers=0).timed(draw)
    assert len(little.levels) == 2
    assert (little.steps, little.words) == ([], "steady")


def test_what_became_faster_is_no_regression() -> None:
    better = History(step=0.8, noise=0.01).timed(np.random.default_rng(0))
    assert better.regression is None
    assert re.fullmatch(r"faster by (19|20)\.\d % since night-3[01]", better.words)


def test_a_regression_that_was_mended_is_none_any_more() -> None:
    mended = of([1e-3] * 10 + [1.2e-3] * 10 + [1e-3] * 10)
    assert [round(step.ratio, 2) for step in mended.steps] == [1.2, 0.83]
    assert mended.regression is None
