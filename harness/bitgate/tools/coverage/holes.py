"""The combinations that no case of a table has, reported briefly: the smallest ones, and the widest classes.

* A hole is reported once, by its fewest classes: with a pair uncovered, no triple around it is listed.
* Where a union of classes (``gemms_count > 1``) is uncovered as a whole, the union is reported, not its members.
* A class without any case is reported for each dispatch path, because each path needs a case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bitgate.model.space.factor import PATH, Class, Factor
from bitgate.tools.coverage.combine import Codes, Combinations, Flags


@dataclass(frozen=True)
class Term:
    """One class, or union of classes, of one factor: ``members`` are class indices."""

    factor: int
    cls: Class
    members: tuple[int, ...]


@dataclass(frozen=True)
class Hole:
    """Terms that no case has together.

    ``plan_only``: every class combination needs tensors of gigabytes. ``also``: equivalent terms of other factors
    (gemms_count > 64, more than two buckets).
    """

    terms: tuple[Term, ...]
    plan_only: bool
    also: tuple[Term, ...] = ()

    @property
    def strength(self) -> int:
        return len(self.terms)


class Levels:
    """Possible and covered combinations of every size up to ``strength``, in the space of classes and unions."""

    def __init__(self, factors: Sequence[Factor], pool: Codes, rows: Codes, strength: int) -> None:
        self.factors = tuple(factors)
        self.terms = [_terms(index, factor) for index, factor in enumerate(self.factors)]
        sizes = tuple(len(factor.classes) for factor in self.factors)
        self.levels = [Combinations(sizes, t) for t in range(1, strength + 1)]
        distinct = np.unique(rows, axis=0) if len(rows) else rows
        self.covered = [level.present(distinct) for level in self.levels]
        self.possible = [level.present(pool) | c for level, c in zip(self.levels, self.covered, strict=True)]
        marked = [factor.plan_only for factor in self.factors]
        self.plan_only = [level.any_of(marked) for level in self.levels]
        self._spread = [
            self._spread_matrix(terms, len(f.classes)) for terms, f in zip(self.terms, factors, strict=True)
        ]
        self._open: dict[tuple[int, ...], Flags] = {(): np.zeros((), dtype=np.bool_)}

    def counts(self, *, plan_only: bool = False) -> tuple[int, int]:
        """Return covered and possible combinations of full strength, of run classes or of plan-only ones."""
        wanted = self.plan_only[-1] if plan_only else ~self.plan_only[-1]
        return int((self.covered[-1] & wanted).sum()), int((self.possible[-1] & wanted).sum())

    def holes(self) -> Iterator[Hole]:
        """Yield all holes, smallest first."""
        path = next((i for i, f in enumerate(self.factors) if f.name == PATH), -1)
        for level, covered, possible, plan_only in zip(
            self.levels, self.covered, self.possible, self.plan_only, strict=True
        ):
            for number, factors in enumerate(level.sets):
                known = self._wider(level.of_set(possible, number), factors)
                open_ = known & ~self._wider(level.of_set(covered, number), factors)
                self._open[factors] = open_
                if level.strength == 1 and path >= 0 and factors[0] != path:
                    continue
                listed = open_ & ~self._smaller(factors, path) & ~self._within_union(open_, factors)
                runs = self._wider(level.of_set(possible & ~plan_only, number), factors) if listed.any() else listed
                for classes in np.argwhere(listed):
                    terms = tuple(self.terms[f][c] for f, c in zip(factors, classes, strict=True))
                    yield Hole(terms, plan_only=not bool(runs[tuple(classes)]))

    def _smaller(self, factors: tuple[int, ...], path: int) -> Flags:
        """Flag the combinations that contain a smaller hole.

        A class without any case is reported as pairs with each path instead.
        """
        found = np.zeros((), dtype=np.bool_)
        for left_out in range(len(factors)):
            rest = factors[:left_out] + factors[left_out + 1 :]
            if not rest or (len(factors) == 2 and path in factors and rest[0] != path):
                continue
            found = found | np.expand_dims(self._open[rest], left_out)
        return found

    def _within_union(self, open_: Flags, factors: tuple[int, ...]) -> Flags:
        """Flag the combinations of which one class can be widened to its union with nothing covered."""
        found = np.zeros_like(open_)
        for axis, f in enumerate(factors):
            for position, term in enumerate(self.terms[f]):
                if len(term.members) > 1:
                    union = np.take(open_, [position], axis=axis)
                    for member in term.members:
                        slot = tuple(
                            slice(member, member + 1) if a == axis else slice(None) for a in range(len(factors))
                        )
                        found[slot] |= union
        return found

    def _wider(self, flags: Flags, factors: tuple[int, ...]) -> Flags:
        """Extend flags over classes to flags over classes and unions: a union holds where a member does."""
        wide = flags
        for axis, f in enumerate(factors):
            spread = self._spread[f]
            if spread.shape[0] != spread.shape[1]:
                extra = [
                    np.take(wide, np.flatnonzero(spread[:, union]), axis=axis).any(axis=axis, keepdims=True)
                    for union in range(spread.shape[0], spread.shape[1])
                ]
                wide = np.concatenate([wide, *extra], axis=axis)
        return wide

    @staticmethod
    def _spread_matrix(terms: Sequence[Term], classes: int) -> Flags:
        matrix = np.zeros((classes, len(terms)), dtype=np.bool_)
        for position, term in enumerate(terms):
            matrix[list(term.members), position] = True
        return matrix


def _terms(index: int, factor: Factor) -> tuple[Term, ...]:
    single = [Term(index, cls, (position,)) for position, cls in enumerate(factor.classes)]
    unions = [Term(index, cls, tuple(factor.index(m) for m in members)) for cls, members in factor.wide]
    return (*single, *unions)
