"""Nights of timings that never were: noise, outliers and a step are planted, so that the expected report is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
from tests.bench.timings import CASE, row

from bitgate.lab.history.query import RecordedCase
from bitgate.lab.history.timed import TimedRun, TimedSeries
from bitgate.results.record.timing import Timing

START = datetime(2026, 9, 1, 22, tzinfo=timezone.utc)


@dataclass(frozen=True)
class History:
    """Twice ``nights``; from the second half on it takes ``step`` times as long. ``carried``: of a night's noise, how
    much holds on into the next one."""

    nights: int = 30
    step: float = 1.0
    noise: float = 0.02
    outliers: float = 0.05
    carried: float = 0.0

    def seconds(self, draw: np.random.Generator) -> list[float]:
        noise = draw.normal(0, self.noise, 2 * self.nights)
        for night in range(1, len(noise)):
            noise[night] = self.carried * noise[night - 1] + (1 - self.carried**2) ** 0.5 * noise[night]
        found = 1e-3 * np.exp(noise)
        found[draw.random(len(found)) < self.outliers] *= 1.5
        found[self.nights :] *= self.step
        return [float(one) for one in found]

    def timed(self, draw: np.random.Generator) -> TimedSeries:
        return of(self.seconds(draw))


def of(seconds: Sequence[float]) -> TimedSeries:
    """A series of these, a night each."""
    points = [
        TimedRun(f"night-{night:02}", f"2026-09-{night:03}", one, 1, f"{night:040x}", "n1")
        for night, one in enumerate(seconds)
    ]
    case = RecordedCase(1, CASE, "grouped_fwd.x1", "{}", "exact", 0, "forward", "", "host")
    return TimedSeries(case, "cpu", "steady clock", tuple(points))


def nights(seconds: Sequence[float], first: int = 0, samples: int = 5, **said: object) -> list[Timing]:
    """Rows of bench.jsonl: each night's samples lie around its ``seconds``."""
    rows = []
    for night, one in enumerate(seconds, first):
        time = START + timedelta(days=night)
        spread = [one * (1 + 0.001 * (place - samples // 2)) for place in range(samples)]
        fields: dict[str, Any] = {
            "side": "",
            "seconds": spread,
            "settings": {"clock": "steady clock"},
            "run": {"id": f"night-{night:02}", "attempt": 1, "time": time.isoformat(), "job": f"j{night}", "shard": ""},
            "fingerprint": {"host": "n1", "commit": f"{night:040x}", "build": f"b{night}", "compiler": "g++ 12"},
        }
        rows.append(row(**(fields | said)))
    return rows
