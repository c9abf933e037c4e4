"""Which hole to close first, by a rule that knows no particular bug:

1. fewer classes first (t): a missing pair says more than a missing triple;
2. closer to a dispatch threshold first: more of the hole's factors are ones that host code branches on;
3. more common first: the share of problems that have it, estimated from the field sample and, the more cases a
   table has, from how often the table itself uses the classes (as if they were mixed freely).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bitgate.coverage.combine import Codes
from bitgate.coverage.factors import Factor
from bitgate.coverage.holes import Hole, Term

FIELD_CASES = 100
"""How many cases of a table weigh as much as the field sample."""


class Shares:
    """Shares of problems with given terms, in one matrix of class indices (rows, factors)."""

    def __init__(self, codes: Codes) -> None:
        self.columns = np.ascontiguousarray(codes.T)
        self.rows = len(codes)
        self._masks: dict[tuple[int, tuple[int, ...]], NDArray[np.bool_]] = {}

    def mask(self, terms: Sequence[Term]) -> NDArray[np.bool_]:
        """Rows that have all terms."""
        found = np.ones(self.rows, dtype=np.bool_)
        for term in terms:
            key = (term.factor, term.members)
            if key not in self._masks:
                self._masks[key] = np.isin(self.columns[term.factor], term.members)
            found &= self._masks[key]
        return found

    def joint(self, terms: Sequence[Term]) -> float:
        return float(self.mask(terms).mean()) if self.rows else 0.0

    def mixed(self, terms: Sequence[Term]) -> float:
        """The share if the classes were independent of each other."""
        share = 1.0
        for term in terms:
            share *= self.joint([term])
        return share


def rank(holes: Sequence[Hole], factors: Sequence[Factor], field: Codes, rows: Codes) -> list[tuple[Hole, float]]:
    """The holes in order of importance, each with its estimated share of problems."""
    world, table = Shares(field), Shares(rows)
    weight = table.rows / (table.rows + FIELD_CASES)
    shares = [(1 - weight) * world.joint(hole.terms) + weight * table.mixed(hole.terms) for hole in holes]
    near = [sum(factors[term.factor].dispatch for term in hole.terms) for hole in holes]
    order = sorted(range(len(holes)), key=lambda i: (holes[i].strength, -near[i], -shares[i]))
    return [(holes[i], shares[i]) for i in order]
