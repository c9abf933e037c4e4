"""Shapes from factor classes: the smallest problem that has given classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from bitgate.model.descent import descend
from bitgate.model.space.candidates import Candidates, Ints, Mask
from bitgate.model.space.factor import Constants, Factor
from bitgate.tools.coverage.holes import Term

Batch = TypeVar("Batch", bound=Candidates)
Property = Callable[[Any], Mask]


def has(terms: Sequence[Term], factors: Sequence[Factor], constants: Constants) -> Property:
    """Return the property of having all these classes, with quantities that all have an effect."""

    def check(batch: Candidates) -> Mask:
        found: Mask = batch.possible & batch.exercised
        for term in terms:
            found &= np.isin(factors[term.factor].classify(batch, constants), term.members)
        return found

    return check


def shrink(start: Batch, wanted: Property) -> Batch:
    """Return the smallest problem reachable from ``start`` (one row that has the property) by steps that keep it.

    The cheapest of all single steps is taken until none is cheaper. Cost: ``Candidates.cost``.
    """

    def cheapest(best: Batch) -> Iterator[Batch]:
        # The property is evaluated for all steps at once, so that a step of a problem costs no more than its batch.
        steps = best.smaller()
        steps = steps.take(steps.possible)
        steps = steps.take(steps.cost < best.cost[0])
        steps = steps.take(wanted(steps))
        if len(steps):
            yield steps.take(np.array([int(np.argmin(steps.cost))]))

    return descend(start, cheapest, lambda step: True).best


def search(
    wanted: Sequence[Property], pool: Batch, seed: int = 1, generations: int = 12, breed: int = 3000
) -> Batch | None:
    """Return a problem with all properties, bred from the pool; None if none was found.

    Children take each quantity from one of two parents, and the ones with the most properties breed on.
    """
    rng = np.random.default_rng(seed)
    parents = pool.take(_fittest(pool, wanted, breed))
    for _ in range(generations):
        scores = _score(parents, wanted)
        if int(scores.max()) == len(wanted):
            return parents.take(np.array([int(np.argmax(scores))]))
        stranger = pool.take(rng.integers(0, len(pool), len(parents)))
        partner = parents.take(rng.integers(0, len(parents), len(parents)))
        family = parents
        for children in [parents.crossed(other, rng) for other in (partner, stranger)]:
            family = family.joined(children)
        family = family.take(family.possible)
        parents = family.take(_fittest(family, wanted, breed))
    return None


def _score(batch: Candidates, wanted: Sequence[Property]) -> Ints:
    return np.asarray(np.sum([check(batch) for check in wanted], axis=0), dtype=np.int64)


def _fittest(batch: Candidates, wanted: Sequence[Property], count: int) -> Ints:
    return np.argsort(-_score(batch, wanted), kind="stable")[:count]
