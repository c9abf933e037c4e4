"""The root cause of answers that fall out of line: the case, the machine, or the night.

The model is a noisy-or (Pearl, Probabilistic Reasoning in Intelligent Systems, 1988, section 4.3). Each cause of an
answer (its case on its target, its machine, its kernel's night) makes it deviate at a separate rate, independently of
the others. A small base rate belongs to no cause.

    P(deviates) = 1 - (1 - base) (1 - rate of the case) (1 - rate of the machine) (1 - rate of the night)

Causes are added one by one, each time the one that raises the likelihood most; rates are then fitted to all of them
together (EM). So a machine that spoils a thousand cases is one cause, not a thousand flaky cases, and a few flaky cases
do not make their machines suspect. A cause is added if its gain exceeds ``ENOUGH`` after subtracting what the
candidates of its kind would gain by chance (the logarithm of their number).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

ENOUGH = log(20)
"""Odds of twenty to one, after the number of candidates is paid for."""
CERTAIN, POSSIBLE = 1e-5, 1e-3
"""Base rates: where the same build has answered otherwise; and where a bug that existed for one night may be the
reason."""
HIGHEST_BASE = 5e-3
MOST = 500
"""Most causes that are reported."""
_ROUNDS = 30


class CauseKind(Enum):
    """The kind of a root cause."""

    CASE = "case"
    MACHINE = "machine"
    GPU = "gpu"
    """One GPU of a machine that has several."""
    NIGHT = "night"


@dataclass(frozen=True)
class Outlier:
    """An answer out of line, with its possible causes; None stands for an unknown machine, or a GPU without a name."""

    case: Hashable
    machine: Hashable | None
    night: Hashable
    certain: bool = False
    gpu: Hashable | None = None


@dataclass(frozen=True)
class CandidateCause:
    """A root cause with its evidence.

    ``score`` is the gain in likelihood, in decibans (10 log10), less the price of the candidates: 13 is twenty to one.
    ``rate`` is the share of answers that it spoils by itself, ``explained`` the number of deviations attributed to it.
    """

    kind: CauseKind
    name: Any
    answers: int
    deviations: int
    rate: float
    explained: float
    score: float

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form without the name, which differs in form for each kind."""
        counts = {"answers": self.answers, "deviations": self.deviations}
        return counts | {name: round(getattr(self, name), 6) for name in ("rate", "explained", "score")}


def infer_causes(
    deviations: Sequence[Outlier], answers: Mapping[CauseKind, Mapping[Hashable, int]]
) -> list[CandidateCause]:
    """Return the causes, the strongest first. ``answers``: the total number for each case, machine and night."""
    if not deviations:
        return []
    return _Search(deviations, answers).found()


Floats = NDArray[np.float64]


class _Search:
    def __init__(self, deviations: Sequence[Outlier], answers: Mapping[CauseKind, Mapping[Hashable, int]]) -> None:
        names: dict[tuple[CauseKind, Hashable], int] = {}
        rows = []
        for one in deviations:
            of = (
                (CauseKind.CASE, one.case),
                (CauseKind.MACHINE, one.machine),
                (CauseKind.GPU, one.gpu),
                (CauseKind.NIGHT, one.night),
            )
            rows.append([-1 if name is None else names.setdefault((kind, name), len(names)) for kind, name in of])
        self.names = list(names)
        self.causes = np.array(rows)
        """The case, machine and night of each deviation."""
        self.known = self.causes >= 0
        self.of = np.where(self.known, self.causes, len(names))
        """The same, with a cause that is never chosen in place of unknown ones."""
        self.certain = np.array([one.certain for one in deviations])
        self.deviations = self._summed(np.ones(self.of.shape))
        self.answers = np.array([float(answers[kind][name]) for kind, name in self.names])
        self.price = np.array([log(max(2, len(answers[kind]))) + ENOUGH for kind, _ in self.names])
        self.total = float(sum(answers[CauseKind.CASE].values()))
        self.rates: Floats = np.zeros(len(names) + 1)
        self.chosen: list[int] = []

    def found(self) -> list[CandidateCause]:
        for _ in range(MOST):
            gains = self._gains() - self.price
            gains[self.chosen] = -1.0
            best = int(gains.argmax())
            if gains[best] <= 0:
                break
            self.chosen.append(best)
            self.rates[best] = self.deviations[best] / self.answers[best]
            self._fit()
        return self._kept()

    def _base(self) -> Floats:
        """Return the base rate, which belongs to no cause: at least what remains unexplained on the whole."""
        unexplained = self._none()
        pooled = np.array([unexplained[self.certain == kind].sum() / self.total for kind in (False, True)])
        least = np.where(self.certain, CERTAIN, POSSIBLE)
        base: Floats = np.minimum(np.maximum(least, pooled[self.certain.astype(int)]), HIGHEST_BASE)
        return base

    def _none(self) -> Floats:
        """Return for each deviation the probability that none of the added causes has fired."""
        least = np.where(self.certain, CERTAIN, POSSIBLE)
        silent = np.prod(1 - self.rates[self.of], axis=1)
        none: Floats = least / (1 - (1 - least) * silent)
        return none

    def _gains(self) -> Floats:
        """Return what each cause would add to the logarithm of the likelihood, at its best rate."""
        base = 1 - (1 - self._base()) * np.prod(1 - self.rates[self.of], axis=1)
        rates = self.deviations / self.answers
        for _ in range(_ROUNDS // 3):
            rates = self._shares(base, rates) / self.answers
        padded = np.append(rates, 0.0)
        with_it = 1 - (1 - base)[:, None] * (1 - padded[self.of])
        raised = np.log(with_it / base[:, None])
        gains: Floats = (self.answers - self.deviations) * np.log1p(-np.minimum(rates, 1 - 1e-9))
        return gains + self._summed(raised)

    def _shares(self, base: Floats, rates: Floats) -> Floats:
        """Return the deviations that each cause would explain, next to ``base`` alone."""
        mine = np.append(rates, 0.0)[self.of]
        share = mine / (1 - (1 - base)[:, None] * (1 - mine))
        return self._summed(share)

    def _summed(self, values: Floats) -> Floats:
        """Sum values by cause, over all deviations that have it."""
        return np.bincount(self.of[self.known], values[self.known], minlength=len(self.names)).astype(float)

    def _fit(self) -> None:
        """Fit the rates of all added causes together."""
        for _ in range(_ROUNDS if self.chosen else 0):
            self.rates[self.chosen] = np.minimum((self._explained() / self.answers)[self.chosen], 1 - 1e-6)

    def _explained(self) -> Floats:
        base = self._base()
        red = 1 - (1 - base) * np.prod(1 - self.rates[self.of], axis=1)
        share: Floats = self.rates[self.of] / red[:, None]
        return self._summed(share)

    def _kept(self) -> list[CandidateCause]:
        """Return the causes without those that later ones explain as well."""
        for weakest in sorted(self.chosen, key=lambda one: self.deviations[one]):
            if self._gain_of(weakest) <= self.price[weakest]:
                self.chosen.remove(weakest)
                self.rates[weakest] = 0.0
                self._fit()
        explained = self._explained()
        causes = [
            CandidateCause(
                *self.names[one],
                answers=int(self.answers[one]),
                deviations=int(self.deviations[one]),
                rate=float(self.rates[one]),
                explained=float(explained[one]),
                score=float(self._gain_of(one) - self.price[one] + ENOUGH) * 10 / log(10),
            )
            for one in self.chosen
        ]
        return sorted(causes, key=lambda cause: -cause.score)

    def _gain_of(self, cause: int) -> float:
        """Return the gain of an added cause over the others."""
        rate = self.rates[cause]
        self.rates[cause] = 0.0
        mine = (self.causes == cause).any(axis=1)
        without = 1 - (1 - self._base()[mine]) * np.prod(1 - self.rates[self.of[mine]], axis=1)
        self.rates[cause] = rate
        raised = np.log((1 - (1 - without) * (1 - rate)) / without).sum()
        return float(raised + (self.answers[cause] - self.deviations[cause]) * log(1 - rate))


def unreliable(failed: Counter[Hashable], answers: Mapping[Hashable, int]) -> list[CandidateCause]:
    """Return the machines on which cases end without an answer (INFRA, LOST) more often than on the others.

    The likelihood of a separate rate is compared with that of a common rate with all other machines.
    """
    found = []
    total_failed, total = sum(failed.values()), sum(answers.values())
    for machine, lost in failed.items():
        count = answers[machine]
        others = max((total_failed - lost + 0.5) / (total - count + 1.0), POSSIBLE)
        rate = lost / count
        if rate <= others:
            continue
        green = (count - lost) * log((1 - rate) / (1 - others)) if lost < count else 0.0
        gain = lost * log(rate / others) + green - log(max(2, len(answers)))
        if gain > ENOUGH:
            found.append(
                CandidateCause(CauseKind.MACHINE, machine, count, lost, rate, float(lost), gain * 10 / log(10))
            )
    return sorted(found, key=lambda cause: -cause.score)
