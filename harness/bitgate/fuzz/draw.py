"""The problems of a round: small ones, in which every class of every factor is about as common as every other.

A bug hides where a few classes meet. If each of them is common and they are drawn apart from each other, all
meetings of four are seen within some thousand problems. So many candidates are drawn, each is weighted until the
classes of all factors are even (raking), and the round takes its problems by these weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from bitgate.coverage.assume import Constants
from bitgate.coverage.batch import Batch, Ints, product
from bitgate.coverage.factors import FACTORS, classify
from bitgate.coverage.pool import Taste, draw
from bitgate.operation import ELEMENTWISE, DtypeSet
from bitgate.operations.convolution import Pass
from bitgate.operations.gemm import GemmProblem, gemm_problem

CANDIDATES = 20_000
TILE = 32
"""Kernels work in tiles: a length of 1 costs about as much as one of 32."""

TINY = Taste(
    groups=(1, 1, 1, 2, 2, 3, 4),
    images=(1, 1, 2, 2, 3, 4, 5),
    channels=(1, 1, 2, 3, 4, 5, 7, 8, 8, 9, 12, 15, 16, 16, 17, 24, 31, 32, 33, 40),
    filters=(1, 1, 2, 2, 3, 3, 4, 5),
    strides=(1, 1, 1, 2, 2, 3, 4, 5),
    dilations=(1, 1, 1, 2, 2, 3, 4),
    long_filters=(12, 16, 33),
    room=(0, 0, 1, 1, 2, 3),
    large=0,
    free_pads=0.4,
)
WIDE = Taste(large=0, free_pads=0.4)


@dataclass(frozen=True)
class Size:
    """How large the problems of a round may be: ``work`` in multiply-adds of whole tiles (1e7: some milliseconds on a
    core), and how many they are."""

    taste: Taste
    work: float
    problems: int


SIZES = (
    Size(TINY, 2e6, 400),
    Size(TINY, 5e6, 400),
    Size(TINY, 2e7, 300),
    Size(TINY, 5e6, 400),
    Size(WIDE, 1e7, 200),
    Size(TINY, 5e6, 400),
    Size(TINY, 2e7, 300),
    Size(WIDE, 2e8, 60),
)
"""The sizes of a kernel's rounds, in turn: small problems first, which are many a second."""


def draw_round(direction: Pass, seed: tuple[int, ...], size: Size, columns: Mapping[str, tuple[int, ...]]) -> Batch:
    """At most ``size.problems`` problems; the same ones for the same arguments."""
    rng = np.random.default_rng([*seed, direction.code, 1])
    batch = draw(direction, seed, CANDIDATES, columns, size.taste)
    batch = batch.take(batch.possible)
    batch = batch.take((work(batch) <= size.work) & (batch.cost <= size.work / 10))
    weights = even(np.concatenate([classify(batch, FACTORS[direction], Constants()), axis_classes(batch)], axis=1))
    # The largest of log(weight) + Gumbel noise are a sample by weight, without repetition.
    order = np.argsort(-(np.log(weights) + rng.gumbel(size=len(weights))), kind="stable")
    return batch.take(order[: size.problems])


def draw_gemms(seed: tuple[int, ...], size: Size, layouts: tuple[str, ...]) -> Iterator[GemmProblem]:
    """``size.problems`` GEMMs; their lengths have few classes, which independent draws meet together as they are."""
    rng = np.random.default_rng([*seed, 3])
    lengths = (*size.taste.channels, 63, 64, 65, 127, 128, 129)
    found = 0
    while found < size.problems:
        m, n, k = (int(v) for v in rng.choice(lengths, 3))
        batch = int(rng.choice(size.taste.groups))
        if batch * prod(-(-v // TILE) * TILE for v in (m, n, k)) > size.work:
            continue
        found += 1
        yield gemm_problem(
            DtypeSet.parse("f32"),
            str(rng.choice(layouts)),
            batch,
            m,
            n,
            k,
            ELEMENTWISE[str(rng.choice(list(ELEMENTWISE)))] if rng.random() < 0.5 else ELEMENTWISE["pass"],
            gap=bool(rng.random() < 0.25),
            split_k=int(rng.choice([1, 1, 1, 1, 1, 1, 2, -1])),
        )


def work(batch: Batch) -> NDArray[np.float64]:
    """Multiply-adds of a problem whose GEMM lengths, K of each tap, are filled up to whole tiles; of bwd_data all
    sub-GEMMs together."""

    def tiles(values: Ints) -> NDArray[np.float64]:
        return (-(-values // TILE) * TILE).astype(np.float64)

    m, n, k, _ = batch.gemm
    if batch.direction is Pass.BWD_WEIGHT:
        return batch.g * tiles(m) * tiles(n) * tiles(k)
    channels = batch.c if batch.direction is Pass.FWD else batch.k
    return batch.g * tiles(m) * tiles(n) * tiles(channels) * product(batch.filter)


def even(codes: NDArray[np.integer], rounds: int = 5, step: float = 0.5, most: float = 50.0) -> NDArray[np.float64]:
    """Weights of rows with which the classes of each column are about equally common; none above ``most`` times the
    mean, so that no row stands for a class alone."""
    weights = np.ones(len(codes))
    for _ in range(rounds):
        for column in codes.T:
            mass = np.bincount(column, weights)
            there = mass > 0
            wanted = weights.sum() / there.sum()
            weights *= (np.where(there, wanted / np.where(there, mass, 1.0), 1.0) ** step)[column]
        weights = np.clip(weights / weights.mean(), 1e-9, most)
    return weights


def axis_classes(batch: Batch) -> NDArray[np.uint8]:
    """Classes of single lengths, axis by axis, which the factors of coverage see only together: (n, columns)."""
    columns: list[Ints] = [np.minimum(batch.n, 4) - 1, _channels(batch.k), _channels(batch.c)]
    for axis in (1, 2):
        columns += [np.minimum(getattr(batch, name)[:, axis], 3) - 1 for name in ("stride", "dilation")]
        columns += [np.minimum(getattr(batch, name)[:, axis], 2) for name in ("left_pad", "right_pad")]
        columns += [np.minimum(batch.filter[:, axis], 4) - 1]
        columns += [_length(getattr(batch, name)[:, axis]) for name in ("input", "output")]
    return np.stack(columns, axis=1).astype(np.uint8)


def _length(values: Ints) -> Ints:
    """1, 2, 3, more and even, more and odd."""
    return np.where(values <= 3, values - 1, 3 + values % 2)


def _channels(values: Ints) -> Ints:
    """1, a few (even, odd), whole vectors of 8 (up to 32, more), the rest below 32 and above."""
    conditions = [values == 1, values < 8, (values % 8 == 0) & (values <= 32), values % 8 == 0, values < 32]
    return np.select(conditions, [values * 0, 1 + values % 2, values * 0 + 3, values * 0 + 4, values * 0 + 5], 6)
