"""The score of a draw, in all, by family and by class of operators, each with its 95 % Wilson interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bitgate.tools.faults.mutation.trial import Fate, MutantTrial
from bitgate.tools.faults.share import Share


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
