"""Settings of a timing, all of which are in each row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The way in which a timing is taken.

    ``samples``: least number of samples a candidate.
    ``batch_seconds``: a sample is as many launches as fill this time.
    ``cold``: caches are overwritten before each launch, which is then timed alone.
    ``queued``: launches wait until all of a sample are queued, so that only the device's time counts.
    ``rotate``: number of sets of buffers that are used interleaved.
    ``budget``: seconds that a shape may take, all its candidates together; verification counts.
    ``warm_up``: launches go on until the last of them agree within this share, for ``warm_up_seconds`` at most.
    ``reference``: what verifies, as in ``PlannedCase``.
    """

    samples: int = 20
    batch_seconds: float = 0.005
    cold: bool = False
    queued: bool = False
    rotate: int = 1
    budget: float = 300.0
    warm_up: float = 0.02
    warm_up_seconds: float = 1.0
    fill: str = "exact"
    seed: int = 0
    reference: str = "auto"


@dataclass(frozen=True)
class Significance:
    """The conditions of a win.

    ``level`` is the share of false winners that a sweep may have (Benjamini-Hochberg), ``minimum_effect`` the least
    difference of medians, as a share, that matters.
    """

    level: float = 0.05
    minimum_effect: float = 0.03
    confidence: float = 0.95
    resamples: int = 2000
