"""How timings are taken; all of it stands in each row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """``samples``: at least so many a contender. ``batch_seconds``: a sample is as many launches as last so long.
    ``cold``: caches are overwritten before each launch, which is then timed alone. ``queued``: launches wait until all
    of a sample are queued, so that the device's time alone is taken. ``rotate``: so many sets of buffers
    take turns. ``budget``: seconds a shape may take, all its contenders together; what is verified counts.
    ``warm_up``: launches go on until the last of them agree within this share, for ``warm_up_seconds`` at most.
    ``reference`` is what verifies: as of ``PlannedCase``.
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
    """When a side has won: ``level`` is the share of false winners that a sweep may have (Benjamini-Hochberg),
    ``minimum_effect`` the least difference of medians, as a share, that anybody cares for."""

    level: float = 0.05
    minimum_effect: float = 0.03
    confidence: float = 0.95
    resamples: int = 2000
