"""The conditions under which a defect shows: the fewest clauses that all red cases meet, and no green one.

With few red cases something always separates them. So a condition is only stated if the chance is small that any of
the clauses that were tried would do so, were the red cases drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, factorial, lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitgate.model.facts import OF_OPERATION, Clause, Fact, Facts

LIMIT = 0.01
"""The largest chance at which a condition is stated, over all numbers of clauses together."""
MOST_CLAUSES = 3
MODULI = (2, 3, 4, 8, 16, 32, 64)
SHOWN = 3
"""Conditions that separate equally well, at most."""
MOST_GREEN = 0.15
"""The share of green cases above which a condition that they meet too says little."""
MOST_WEIGHED = 100
"""Conditions that separate, the plainest first, whose chance is computed."""
STRONGEST = 60
"""Clauses of which three are tried at once: those that the fewest green cases meet."""

DISPATCH = "dispatch "
"""The beginning of the names of what a dispatch record states: much of it is known of the problem, too."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class CaseFacts:
    """The facts of a case in groups, and for each group the identity by which all of its facts are decided.

    Cases of one identity say the same of a group: a problem that is wrong on ten instances is one observation.
    """

    groups: Mapping[str, Facts]
    identity: Mapping[str, str]


@dataclass(frozen=True)
class SharedCondition:
    """Conditions that all red cases meet: alternatives of equally few clauses, the plainest first."""

    alternatives: tuple[tuple[Clause, ...], ...]
    green: int
    """The green cases that meet it, too; no alternatives are given unless it is none."""

    @property
    def words(self) -> tuple[str, ...]:
        """The alternatives in words."""
        return tuple(" and ".join(map(in_words, clauses)) for clauses in self.alternatives)


def in_words(clause: Clause) -> str:
    """Return a clause as a reader takes it: classes of factors have words, which need no name."""
    if clause.name.endswith(OF_OPERATION):
        return f"{'not ' * (clause.relation == 'is not')}{clause.value}"
    flags = {"yes": clause.name, "no": f"not {clause.name}"}
    return flags.get(str(clause.value), str(clause))


def shared_condition(reds: Sequence[CaseFacts], greens: Sequence[CaseFacts]) -> SharedCondition | None:
    """Return the condition that separates red cases from green ones, else the strongest that all red ones meet.

    None if there is none, or none that is unlikely by chance.
    """
    if len(reds) < 2 or not greens:
        return None
    search = _CandidateClauses(reds, greens)
    for count in range(1, MOST_CLAUSES + 1):
        if found := _varied(search.separating(count)):
            return SharedCondition(tuple(found), 0)
    return search.strongest()


class _Column(NamedTuple):
    """A clause that every red case meets, with the group and the green cases' values of its fact."""

    clause: Clause
    group: str
    values: Sequence[Fact | None]
    met: Mask
    """The green cases that meet it, too."""

    @property
    def cost(self) -> int:
        """The plainer a clause is, the less it costs."""
        return COSTS[self.clause.relation] + bool(self.clause.modulus)


COSTS = {"is": 0, "==": 1, "!=": 1, ">": 2, "<": 2, "is not": 3}


class _CandidateClauses:
    """Red and green cases by the clauses that all red ones meet."""

    def __init__(self, reds: Sequence[CaseFacts], greens: Sequence[CaseFacts]) -> None:
        self._reds, self._greens = len(reds), len(greens)
        every = [*reds, *greens]
        groups = list(dict.fromkeys(group for case in every for group in case.groups))
        self._units = {group: _numbered([case.identity[group] for case in every]) for group in groups}
        self._tried = 0
        columns: dict[tuple[str, bytes], _Column] = {}
        for group in groups:
            facts = [case.groups.get(group, {}) for case in every]
            for column in self._columns(group, facts):
                key = group, column.met.tobytes()
                if not column.met.all() and (key not in columns or column.cost < columns[key].cost):
                    columns[key] = column
        self._found = sorted(columns.values(), key=lambda one: one.cost)
        self._met = np.array([one.met for one in self._found], dtype=np.float32).reshape(-1, self._greens)

    def _columns(self, group: str, facts: Sequence[Facts]) -> Iterator[_Column]:
        """Yield the clauses that all red cases meet, and count those that some case could have asked for."""
        for name in dict.fromkeys(name for of in facts for name in of):
            values = [of.get(name) for of in facts]
            words = {value for value in values if isinstance(value, str)}
            numbers = {value for value in values if isinstance(value, int)}
            self._tried += 2 * len(words) + 3 * len(numbers)
            self._tried += sum(1 + len({value % modulus for value in numbers}) for modulus in MODULI if numbers)
            own = set(values[: self._reds])
            if own <= words:
                clauses = _of_words(name, sorted(words & own), sorted(words - own))
            elif own <= numbers:
                clauses = _of_numbers(name, sorted(numbers & own), sorted(numbers))
            else:
                continue
            greens = values[self._reds :]
            yield from (_Column(clause, group, greens, _met(clause, greens)) for clause in clauses)

    def separating(self, count: int) -> Iterator[tuple[Clause, ...]]:
        """Yield the conditions of ``count`` clauses that no green case meets, the plainest first, if none is left to
        chance."""
        alone = self._met.sum(axis=1)
        found = sorted(
            self._apart(count),
            key=lambda at: (sum(self._found[one].cost for one in at), -min(alone[one] for one in at), at),
        )
        for at in found[:MOST_WEIGHED]:
            if self._is_told(at):
                yield self._widened([self._found[one] for one in at])

    def _widened(self, columns: list[_Column]) -> tuple[Clause, ...]:
        """Return the clauses with bounds between red values and green ones of cases that meet the other clauses."""
        for place, column in enumerate(columns):
            clause = column.clause
            if len(columns) > 1 and clause.relation in (">", "<"):
                others = np.all([one.met for one in columns if one is not column], axis=0)
                near = [value for value, is_met in zip(column.values, others, strict=True) if is_met]
                numbers = [value for value in near if isinstance(value, int)]
                if numbers:
                    wide = replace(clause, value=max(numbers) if clause.relation == ">" else min(numbers))
                    columns[place] = column._replace(clause=wide, met=_met(wide, column.values))
        return tuple(column.clause for column in columns)

    def strongest(self) -> SharedCondition | None:
        """Return the condition of one or two clauses that the fewest green cases meet; None if too many do."""
        alone = self._met.sum(axis=1)
        together = self._met @ self._met.T
        pairs = (((one, two), together[one, two]) for one, two in combinations(range(len(self._found)), 2))
        found: list[tuple[tuple[int, ...], float]] = [*(((one,), count) for one, count in enumerate(alone)), *pairs]
        found = [(at, met) for at, met in found if met <= MOST_GREEN * self._greens]
        found.sort(key=lambda one: (one[1], len(one[0]), sum(self._found[at].cost for at in one[0])))
        for at, met in found[:MOST_WEIGHED]:
            if self._is_told(at):
                return SharedCondition((tuple(self._found[one].clause for one in at),), int(met))
        return None

    def _apart(self, count: int) -> Iterable[tuple[int, ...]]:
        """Return the places of clauses which no green case meets together, and of which none can be left out."""
        if count == 1:
            return [(int(one),) for one in np.flatnonzero(self._met.sum(axis=1) == 0)]
        if count == 2:
            one, two = np.nonzero(np.triu(self._met @ self._met.T == 0, 1))
            return zip(one.tolist(), two.tolist(), strict=True)
        return self._triples()

    def _triples(self) -> Iterator[tuple[int, ...]]:
        few = np.sort(np.argsort(self._met.sum(axis=1), kind="stable")[:STRONGEST])
        for place, first in enumerate(few):
            later = few[place + 1 :]
            rest = self._met[later][:, self._met[first] > 0]
            for one, two in np.argwhere(np.triu(rest @ rest.T == 0, 1)).tolist():
                yield int(first), int(later[one]), int(later[two])

    def _is_told(self, at: Sequence[int]) -> bool:
        """Return whether chance is excluded for the condition, and for each clause of it given the others."""
        columns = [self._found[one] for one in at]
        ids = self._identities(frozenset(column.group for column in columns))
        red = len(np.unique(ids[: self._reds]))

        def ways(chosen: Sequence[_Column]) -> float:
            """Return the logarithm of the number of ways to draw the red identities of those that meet clauses."""
            is_met = np.ones(len(ids), dtype=bool)
            for column in chosen:
                is_met[self._reds :] &= column.met
            met = len(np.unique(ids[is_met]))
            return lgamma(met + 1) - lgamma(red + 1) - lgamma(met - red + 1)

        own = ways(columns)
        tried = self._tried ** len(at) / factorial(len(at))
        if tried * exp(own - ways([])) > LIMIT / MOST_CLAUSES:
            return False
        rests = [[two for two in columns if two is not one] for one in columns] if len(columns) > 1 else []
        return all(self._tried * exp(own - ways(rest)) <= LIMIT for rest in rests)

    def _identities(self, groups: frozenset[str]) -> NDArray[np.int64]:
        """Return a number for each case, the same for cases that agree in the identities of these groups."""
        ids = np.zeros(self._reds + self._greens, dtype=np.int64)
        for group in groups:
            ids = np.unique(ids * (1 + self._units[group].max()) + self._units[group], return_inverse=True)[1]
        return ids


def _met(clause: Clause, values: Sequence[Fact | None]) -> Mask:
    holds = {value: value is not None and clause.holds({clause.name: value}) for value in set(values)}
    return np.array([holds[value] for value in values], dtype=bool)


def _of_words(name: str, own: Sequence[str], others: Sequence[str]) -> Iterator[Clause]:
    if len(own) == 1:
        yield Clause(name, "is", own[0])
    else:
        yield from (Clause(name, "is not", value) for value in others)


def _of_numbers(name: str, own: Sequence[int], every: Sequence[int]) -> Iterator[Clause]:
    if len(own) == 1:
        yield Clause(name, "==", own[0])
    else:
        below = [value for value in every if value < own[0]]
        above = [value for value in every if value > own[-1]]
        yield from (Clause(name, ">", value) for value in below[-1:])
        yield from (Clause(name, "<", value) for value in above[:1])
    for modulus in MODULI:
        rests = {value % modulus for value in own}
        if 0 not in rests:
            yield Clause(name, "!=", 0, modulus)
        if len(rests) == 1 < len(own):
            yield Clause(name, "==", rests.pop(), modulus)


def _varied(found: Iterable[tuple[Clause, ...]]) -> list[tuple[Clause, ...]]:
    """Return the first conditions of which no two are about the same facts."""
    varied: dict[frozenset[str], tuple[Clause, ...]] = {}
    for clauses in found:
        varied.setdefault(frozenset(_quantity(clause) for clause in clauses), clauses)
        if len(varied) == SHOWN:
            break
    return list(varied.values())


def _quantity(clause: Clause) -> str:
    """Return what a fact is about: classes and single axes of a quantity are about the same."""
    name = clause.name.split()[0] if clause.name.endswith(OF_OPERATION) else clause.name.removeprefix(DISPATCH)
    return name.split("[")[0].removesuffix(OF_OPERATION)


def _numbered(identities: Sequence[str]) -> NDArray[np.int64]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(one, len(numbers)) for one in identities], dtype=np.int64)
