"""A share of what was tried, with its 95 % Wilson interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Share:
    """A share, ``part`` of ``whole``."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; None of nothing."""
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of its Wilson interval; all that there can be, of nothing."""
        if not self.whole:
            return 0.0, 1.0
        share, whole = self.part / self.whole, self.whole
        z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        middle = share + z * z / (2 * whole)
        half = z * sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
        scale = 1 + z * z / whole
        return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)

    def as_json(self) -> dict[str, Any]:
        value, ends = self.value, self.interval
        return {
            "score": None if value is None else round(value, 4),
            "interval": [round(end, 4) for end in ends],
            "killed": self.part,
            "of": self.whole,
        }

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.3f} ({low:.3f} to {high:.3f}): {self.part} of {self.whole}" if self.whole else "none"
