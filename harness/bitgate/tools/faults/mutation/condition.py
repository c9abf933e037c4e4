"""Conditions of mutants: two clauses on the facts of a case, with which a mutant acts only where both meet.

A kernel does not know a condition. The facts are the same for all launches of a case, so the switch of a mutant is
turned on for the cases that meet its condition, and stays off for all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from bitgate.model.space import ProblemSpace
from bitgate.model.space.problem_property import PropertyKind

Facts = Mapping[str, int | str]
"""The classes of a case by factor, and the numbers of its problem by name."""

MODULI = (2, 3, 4, 8)
UNSEEN = frozenset({"fill"})
"""Factors that a kernel cannot branch on."""
TRIES = 100
"""Draws of two clauses, at most: one may follow from the other, or hold for every case."""


@dataclass(frozen=True)
class Clause:
    """One half of a condition: a fact that is of a class, above a number, or leaves a rest modulo ``modulus``."""

    name: str
    value: int | str
    modulus: int = 0

    def holds(self, facts: Facts) -> bool:
        found = facts.get(self.name)
        if isinstance(found, int) and isinstance(self.value, int):
            return found % self.modulus == self.value if self.modulus else found > self.value
        return found == self.value

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return f"{self.name.rstrip(':')} is {self.value}"
        return f"{self.name} % {self.modulus} == {self.value}" if self.modulus else f"{self.name} > {self.value}"


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


def _clause(name: str, value: int | str, rng: Random) -> Clause:
    if isinstance(value, str):
        return Clause(name, value)
    if value > 0 and rng.random() < 0.5:
        return Clause(name, rng.randint(value // 2, value - 1))
    modulus = rng.choice(MODULI)
    return Clause(name, value % modulus, modulus)


def numbers_of(space: ProblemSpace, problem: Any) -> dict[str, int]:
    """Return a problem's numbers by name, as ``problem.k``; axes count from the last one: ``problem.stride[-1]``."""
    found: dict[str, int] = {}
    for name, known in space.properties.items():
        value = known.of(problem)
        if known.kind is PropertyKind.NUMBER:
            found[f"problem.{name}"] = int(value)
        elif known.kind is PropertyKind.LENGTHS:
            lengths = str(value).split("x")
            found |= {f"problem.{name}[{axis - len(lengths)}]": int(length) for axis, length in enumerate(lengths)}
    return found
