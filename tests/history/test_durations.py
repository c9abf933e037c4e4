"""A case's own time, night after night: what drifts is reported, what wanders or stands out once is not."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.lab.history.durations import Duration
from bitgate.lab.history.query import RecordedRun

NIGHTS = 20


def duration(seconds: np.ndarray) -> Duration:
    runs = tuple(RecordedRun(number, f"night-{number}", f"2026-01-{number + 1:02}", "") for number in range(NIGHTS))
    return Duration("gfx942", "MI300X", "bwd_data_a", "naive_conv", "f32", "exact", tuple(map(float, seconds)), runs)


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, 0.04, NIGHTS)


@pytest.mark.parametrize("seed", range(20))
def test_three_percent_a_night_are_told(seed: int) -> None:
    drift = duration(0.2 * 1.03 ** np.arange(NIGHTS) * noise(seed)).drift
    assert drift is not None
    assert 1.2 < drift.ratio < 1.9
    assert str(drift).startswith("slower by ")


def test_a_step_is_told_with_its_run() -> None:
    drift = duration(np.where(np.arange(NIGHTS) < 12, 0.2, 0.16) * noise(0)).drift
    assert drift is not None
    assert str(drift) == f"faster by {100 * (1 - drift.ratio):.0f} % since night-12"


def test_calm_cases_and_single_nights_are_not() -> None:
    odd = np.where(np.arange(NIGHTS) == 7, 3.0, 1.0)
    told = [seed for seed in range(200) if duration(0.2 * noise(seed) * odd).drift]
    assert len(told) <= 4


def test_what_ends_where_it_began_has_not_drifted() -> None:
    there_and_back = np.where(abs(np.arange(NIGHTS) - 9.5) < 4, 0.3, 0.2)
    assert duration(there_and_back * noise(1)).drift is None


def test_less_than_a_millisecond_is_the_machines() -> None:
    assert duration(np.where(np.arange(NIGHTS) < 10, 0.0005, 0.001)).drift is None
