"""A median and what it may be off by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.tools.bench.interval import median_interval
from bitgate.tools.bench.settings import Significance

QUICK = Significance(resamples=200)


def test_the_interval_holds_the_true_median_as_often_as_it_says() -> None:
    draw = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        found = median_interval(draw.lognormal(0, 0.02, 30).tolist(), QUICK)
        held += found.low <= 1 <= found.high
    assert 180 <= held <= 199


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=40))
def test_it_lies_among_the_samples_and_around_their_median(seconds: list[float]) -> None:
    found = median_interval(seconds, QUICK)
    assert found.median == np.median(seconds)
    assert min(seconds) <= found.low <= found.median * (1 + 1e-12)
    assert found.median * (1 - 1e-12) <= found.high <= max(seconds)
    assert found == median_interval(seconds, QUICK), "the same seed, the same interval"


def test_more_confidence_is_a_wider_interval() -> None:
    seconds = [1 + 0.01 * place for place in range(30)]
    narrow, wide = (median_interval(seconds, Significance(confidence=share)) for share in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_many_samples_are_resampled_a_few_rows_at_a_time() -> None:
    found = median_interval(np.random.default_rng(0).lognormal(0, 0.02, 300_000).tolist(), Significance(resamples=20))
    assert found.low <= found.median <= found.high <= 1.001


def test_there_is_no_median_of_nothing() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median_interval([], QUICK)
