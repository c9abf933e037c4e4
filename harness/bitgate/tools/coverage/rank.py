"""The order in which to close holes, by a rule that does not know any particular bug.

1. Fewer classes first (t): a missing pair matters more than a missing triple.
2. Systematic ones first: from how often the table uses the classes, at least five shapes should have them together,
   and none has (all G=1 cases use stride 1, for example); the more are missing, the earlier.
3. Closer to a dispatch threshold first: more of the hole's factors are ones that host code branches on.
4. More common first: the share of problems that have it, estimated from the field sample and, the more shapes a
   table has, from the table's frequencies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from bitgate.model.space.factor import Factor
from bitgate.tools.coverage.combine import Codes
from bitgate.tools.coverage.holes import Hole, Term

SYSTEMATIC = 5.0
"""Expected cases from which their absence is no accident (probability e^-5 if cases were mixed freely)."""

FIELD_CASES = 100
"""Number of shapes of a table that weigh as much as the field sample."""


class Shares:
    """Shares of problems with given terms, in one matrix of class indices (rows, factors)."""

    def __init__(self, codes: Codes) -> None:
        self.columns = np.ascontiguousarray(codes.T)
        self.rows = len(codes)
        self._masks: dict[tuple[int, tuple[int, ...]], NDArray[np.bool_]] = {}

    def mask(self, terms: Sequence[Term]) -> NDArray[np.bool_]:
        """Flag the rows that have all terms."""
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
        """Return the share if the classes were independent of each other."""
        share = 1.0
        for term in terms:
            share *= self.joint([term])
        return share


def merged(holes: Iterable[Hole], pool: Shares) -> list[Hole]:
    """Merge holes that the same problems would close into the first of them, with the others' terms as ``also``."""
    found: dict[tuple[int, bytes], Hole] = {}
    for hole in holes:
        key = (hole.strength, blake2b(np.packbits(pool.mask(hole.terms)).tobytes(), digest_size=16).digest())
        first = found.setdefault(key, hole)
        if first is not hole:
            further = tuple(term for term in hole.terms if term not in first.terms + first.also)
            found[key] = replace(first, also=first.also + further)
    return list(found.values())


@dataclass(frozen=True)
class HoleWeight:
    """The reasons for a hole's rank: its share of problems, its expected cases, and its factors near a threshold."""

    share: float
    expected: float
    near: int

    def key(self, strength: int) -> tuple[float, ...]:
        systematic = self.expected if self.expected >= SYSTEMATIC else 0.0
        return (strength, -systematic, -self.near, -self.share)


def rank(
    holes: Sequence[Hole], factors: Sequence[Factor], possible: Shares, field: Codes, rows: Codes, shapes: int
) -> list[tuple[Hole, HoleWeight]]:
    """Sort the holes by importance.

    ``possible`` are the shares of the pool, ``shapes`` the number of different shapes in the table. The same shape run
    with more types and layouts is no further evidence.
    """
    world, table = Shares(field), Shares(rows)
    trust = shapes / (shapes + FIELD_CASES)
    weighed = []
    for hole in holes:
        # Classes of derived factors go together more or less often than by chance: the pool knows how much.
        together = possible.joint(hole.terms) / max(possible.mixed(hole.terms), 1e-12)
        own = min(1.0, table.mixed(hole.terms) * together)
        share = (1 - trust) * world.joint(hole.terms) + trust * own
        near = sum(factors[term.factor].dispatch for term in hole.terms)
        weighed.append((hole, HoleWeight(share, own * shapes, near)))
    return sorted(weighed, key=lambda entry: entry[1].key(entry[0].strength))
