"""Conditions of mutants: two clauses on the facts of a case, with which a mutant acts only where both meet.

A kernel does not know a condition. The facts are the same for all launches of a case, so the switch of a mutant is
turned on for the cases that meet its condition, and stays off for all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from bitgate.model.facts import Clause, Fact, Facts

MODULI = (2, 3, 4, 8)
UNSEEN = frozenset({"fill"})
"""Factors that a kernel cannot branch on."""
TRIES = 100
"""Draws of two clauses, at most: one may follow from the other, or hold for every case."""


@dataclass(frozen=True)
class Condition:
    """Clauses that hold at once."""

    clauses: tuple[Clause, ...]

    def holds(self, facts: Facts) -> bool:
        return all(clause.holds(facts) for clause in self.clauses)

    def __str__(self) -> str:
        return " and ".join(map(str, self.clauses))


def draw_condition(shown: Facts, every: Sequence[Facts], rng: Random) -> Condition | None:
    """Draw a condition that holds for ``shown``; in ``every`` case that reaches the place no clause follows from the
    other. Return None if none was found.
    """
    names = sorted(name for name in shown if name not in UNSEEN and shown[name] != "")
    for _ in range(TRIES if names else 0):
        one, other = (_clause(name, shown[name], rng) for name in (rng.choice(names), rng.choice(names)))
        met = {(one.holds(facts), other.holds(facts)) for facts in every}
        if {(True, False), (False, True)} <= met:
            return Condition((one, other))
    return None


def _clause(name: str, value: Fact, rng: Random) -> Clause:
    if isinstance(value, str):
        return Clause(name, "is", value)
    if value > 0 and rng.random() < 0.5:
        return Clause(name, ">", rng.randint(value // 2, value - 1))
    modulus = rng.choice(MODULI)
    return Clause(name, "==", value % modulus, modulus)
