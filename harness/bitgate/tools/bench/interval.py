"""A median with the interval that resampling gives it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from bitgate.tools.bench.settings import Significance

_ = np.ma
"""Loaded early because medians need it. While numpy loads it or its random numbers a Ctrl-C is lost, which must not
happen during a measurement."""

_TOGETHER = 1 << 20
"""Resampled numbers held in memory at once."""


class Interval(NamedTuple):
    """A median and the ends of its interval, in the unit of the samples: seconds, or a share."""

    median: float
    low: float
    high: float


def median_interval(seconds: Sequence[float], significance: Significance, seed: int = 0) -> Interval:
    """Return the median with its percentile bootstrap interval.

    The same seed gives the same interval. Raises ValueError without any sample.
    """
    samples = np.asarray(seconds, dtype=float)
    if not samples.size:
        raise ValueError("no samples: there is no median of nothing")
    found = [np.median(samples[chosen], axis=1) for chosen in resampled(samples.size, significance.resamples, seed)]
    low, high = limits(np.concatenate(found), significance.confidence)
    return Interval(float(np.median(samples)), low, high)


def resampled(size: int, resamples: int, seed: int, numbers: int = 0) -> Iterator[NDArray[np.intp]]:
    """Yield ``resamples`` rows of ``size`` places drawn with replacement.

    They come in blocks of rows such that a few megabytes hold what is made of them: ``numbers`` a row, ``size`` by
    default.
    """
    draw = default_rng(seed)
    step = max(1, _TOGETHER // (numbers or size))
    for first in range(0, resamples, step):
        yield draw.integers(size, size=(min(step, resamples - first), size))


def limits(values: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """Return the ends of the range that holds the middle ``confidence`` of the values."""
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
