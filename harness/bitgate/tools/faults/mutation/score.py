"""The score of a draw, in all, by family and by class of operators, each with its 95 % Wilson interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

from bitgate.tools.faults.mutation.trial import Fate, MutantTrial

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


@dataclass(frozen=True)
class Score:
    """The fates of a draw."""

    trials: Sequence[MutantTrial]

    @property
    def counts(self) -> Counter[Fate]:
        return Counter(trial.fate for trial in self.trials)

    @property
    def killed(self) -> Share:
        """The killed ones of all mutants that a case reaches."""
        return Share(sum(one.fate.is_kill for one in self.trials), sum(one.fate.counts for one in self.trials))

    @property
    def shown(self) -> Share:
        """The killed ones of those that turn some case red, of the tier or drawn."""
        return Share(self.killed.part, sum(one.is_shown for one in self.trials))

    @property
    def survivors(self) -> list[MutantTrial]:
        return [trial for trial in self.trials if trial.fate is Fate.SURVIVED]

    @property
    def by_family(self) -> dict[str, Score]:
        return self._by(lambda trial: trial.family)

    @property
    def by_operator(self) -> dict[str, Score]:
        return self._by(lambda trial: trial.mutant.operator_class)

    def as_json(self) -> dict[str, Any]:
        return {
            "faults": [trial.as_json() for trial in self.trials],
            **self._shares(),
            "counts": {fate.value: self.counts[fate] for fate in Fate},
            "by_family": {name: part._shares() for name, part in self.by_family.items()},
            "by_operator": {name: part._shares() for name, part in self.by_operator.items()},
        }

    def _shares(self) -> dict[str, Any]:
        return {**self.killed.as_json(), "shown": self.shown.as_json()}

    def _by(self, key: Callable[[MutantTrial], str]) -> dict[str, Score]:
        names = sorted({key(trial) for trial in self.trials})
        return {name: Score([trial for trial in self.trials if key(trial) == name]) for name in names}
