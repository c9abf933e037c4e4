"""Rows of a benchmark that never ran: what its samples hide is planted, so that it is known what must be reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitgate.results.record.timing import SCHEMA, Timing, TimingStatus

STRETCH = 8.0
HIT = 0.85
"""Of the samples of a busy round."""

CASE = "fwd_f16_nhwgc_g1n1k8c8_y3x3_h8x8_s1x1_d1x1_p1x1_q1x1"


def row(side: str, seconds: Sequence[float] | np.ndarray, **said: Any) -> Timing:
    """One contender, a sample a round unless ``rounds`` says otherwise."""
    fields: dict[str, Any] = {
        "schema": SCHEMA,
        "side": side,
        "case": CASE,
        "kernel": "grouped_fwd",
        "instance": "x1",
        "fill": "exact",
        "seed": 0,
        "schedule": "forward",
        "target": "host",
        "platform": "host",
        "device": {"kind": "cpu", "name": "cpu"},
        "status": TimingStatus.TIMED,
        "seconds": tuple(map(float, seconds)),
        "rounds": tuple(range(len(seconds))),
        "launches": len(seconds),
    }
    return Timing(**(fields | said))


@dataclass(frozen=True)
class Device:
    """A device as unsteady as they are: a lognormal ``noise``, a clock that drifts by up to ``drift`` from the first
    round to the last, ``wander`` from one round to the next, and ``outliers`` that take 1.5 times as long. ``carried``:
    of a contender's own noise, how much holds on into its next round. ``busy``: in this share of the rounds others want
    the same cores, for STRETCH rounds in the mean; most samples then take up to 3.7 times as long."""

    noise: float = 0.02
    drift: float = 0.1
    wander: float = 0.003
    outliers: float = 0.05
    carried: float = 0.0
    busy: float = 0.0

    def sweep(
        self, draw: np.random.Generator, *, shapes: int = 40, rounds: int = 20, instances: int = 1, slower: float = 1.0
    ) -> list[Timing]:
        """Both sides are the same kernels, but for the first shape, where B takes ``slower`` times as long."""
        rows = []
        for shape in range(shapes):
            level = np.linspace(0, draw.uniform(-self.drift, self.drift), rounds)
            level += np.cumsum(draw.normal(0, self.wander, rounds))
            busy = self._busy(draw, rounds)
            for side in "AB":
                factor = slower if side == "B" and shape == 0 else 1.0
                for instance in range(instances):
                    seconds = 1e-3 * factor * np.exp(level + self._own(draw, rounds))
                    seconds[draw.random(rounds) < self.outliers] *= 1.5
                    hit = busy & (draw.random(rounds) < HIT) if self.busy else busy
                    seconds[hit] *= np.exp(draw.uniform(0.2, 1.3, int(hit.sum())))
                    rows.append(row(side, seconds, name=f"shape {shape}", instance=f"x{instance}"))
        return rows

    def _busy(self, draw: np.random.Generator, rounds: int) -> np.ndarray:
        """In which rounds others are at work."""
        found = np.zeros(rounds, bool)
        if not self.busy:
            return found
        begins, now = self.busy / (1 - self.busy) / STRETCH, draw.random() < self.busy
        for place in range(rounds):
            found[place] = now
            now = draw.random() >= 1 / STRETCH if now else draw.random() < begins
        return found

    def _own(self, draw: np.random.Generator, rounds: int) -> np.ndarray:
        noise = draw.normal(0, self.noise, rounds)
        for place in range(1, rounds):
            noise[place] = self.carried * noise[place - 1] + (1 - self.carried**2) ** 0.5 * noise[place]
        return noise
