"""A median with the interval that resampling gives it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from bitgate.tools.bench.settings import Significance

_ = np.ma
"""What medians ask for. numpy loads it and its random numbers at their first use; as these are loaded a Ctrl-C is lost,
which may not be while something is measured."""

_TOGETHER = 1 << 20
"""Resampled numbers held at a time."""


class Interval(NamedTuple):
    """In the unit of what it was made of: seconds, or a share."""

    median: float
    low: float
    high: float


def median_interval(seconds: Sequence[float], significance: Significance, seed: int = 0) -> Interval:
    """Percentile bootstrap of the median. The same seed gives the same interval; ValueError without any sample."""
    samples = np.asarray(seconds, dtype=float)
    if not samples.size:
        raise ValueError("no samples: there is no median of nothing")
    found = [np.median(samples[chosen], axis=1) for chosen in resampled(samples.size, significance.resamples, seed)]
    low, high = limits(np.concatenate(found), significance.confidence)
    return Interval(float(np.median(samples)), low, high)


def resampled(size: int, resamples: int, seed: int, numbers: int = 0) -> Iterator[NDArray[np.intp]]:
    """``resamples`` rows of ``size`` places drawn with replacement, so many rows at a time that a few megabytes
    hold what is made of them: ``numbers`` a row, if not ``size``."""
    draw = default_rng(seed)
    step = max(1, _TOGETHER // (numbers or size))
    for first in range(0, resamples, step):
        yield draw.integers(size, size=(min(step, resamples - first), size))


def limits(values: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """What the middle ``confidence`` of the values lie within."""
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
