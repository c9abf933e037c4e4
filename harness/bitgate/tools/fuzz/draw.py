"""The problems of a round: small ones, in which the classes of each factor are about equally common.

A bug hides where a few classes meet. If each of them is common and they are drawn independently, all combinations of
four occur within some thousand problems. Therefore a large number of candidates is drawn, and each is weighted until
the classes of all factors are even (raking). The round takes its problems by these weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitgate.model.space import ProblemSpace
from bitgate.model.space.candidates import Candidates
from bitgate.model.space.factor import Constants, classify

CANDIDATES = 20_000


@dataclass(frozen=True)
class RoundSize:
    """Limits on the problems of a round: ``work`` in multiply-adds of whole tiles (1e7: some milliseconds on a core).

    ``problems`` is their number. ``distribution`` says which values the draw prefers, ``tiny`` or ``wide``.
    """

    distribution: str
    work: float
    problems: int


SIZES = (
    RoundSize("tiny", 2e6, 400),
    RoundSize("tiny", 5e6, 400),
    RoundSize("tiny", 2e7, 300),
    RoundSize("tiny", 5e6, 400),
    RoundSize("wide", 1e7, 200),
    RoundSize("tiny", 5e6, 400),
    RoundSize("tiny", 2e7, 300),
    RoundSize("wide", 2e8, 60),
)
"""The sizes of a kernel's rounds, cyclic: small problems first, which are many a second."""


def draw_round(space: ProblemSpace, seed: tuple[int, ...], size: RoundSize, layouts: Sequence[str] = ()) -> Candidates:
    """Draw at most ``size.problems`` problems; the same ones for the same arguments.

    ``layouts`` are those that kernels declare to take.
    """
    rng = np.random.default_rng([*seed, space.salt, 1])
    batch = space.candidates(seed, CANDIDATES, layouts, size.distribution)
    batch = batch.take(batch.possible)
    batch = batch.take((batch.work <= size.work) & (batch.cost <= size.work / 10))
    weights = even(np.concatenate([classify(batch, space.factors, Constants()), space.finer(batch)], axis=1))
    # The largest of log(weight) + Gumbel noise are a sample by weight, without repetition.
    order = np.argsort(-(np.log(weights) + rng.gumbel(size=len(weights))), kind="stable")
    return batch.take(order[: size.problems])


def even(codes: NDArray[np.integer], rounds: int = 5, step: float = 0.5, most: float = 50.0) -> NDArray[np.float64]:
    """Return weights of rows with which the classes of each column are about equally common.

    None is above ``most`` times the mean, so that no row represents a class alone.
    """
    weights = np.ones(len(codes))
    for _ in range(rounds):
        for column in codes.T:
            mass = np.bincount(column, weights)
            there = mass > 0
            wanted = weights.sum() / there.sum()
            weights *= (np.where(there, wanted / np.where(there, mass, 1.0), 1.0) ** step)[column]
        weights = np.clip(weights / weights.mean(), 1e-9, most)
    return weights
