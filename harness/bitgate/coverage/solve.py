"""From factor classes back to shapes: the smallest problem that has given classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bitgate.coverage.assume import Constants
from bitgate.coverage.batch import AXES, PLAIN_VALUES, Batch, Ints, concatenate
from bitgate.coverage.factor import Factor
from bitgate.coverage.holes import Term

Property = Callable[[Batch], NDArray[np.bool_]]

_SCALARS = ("g", "n", "k", "c")
_SPATIAL = {"filter": 1, "input": 1, "stride": 1, "dilation": 1, "left_pad": 0, "right_pad": 0}
_TOGETHER = (
    ("left_pad", "right_pad"),
    ("dilation", "left_pad", "right_pad"),
    ("input", "stride"),
    ("filter", "stride"),
    ("filter", "input", "stride"),
    ("stride", "dilation"),
    ("stride", "dilation", "input"),
)
"""Quantities of one axis that a property may tie to each other, so that only a joint step keeps it."""

_SPANS = ("filter", "stride", "dilation")
"""Quantities that set how much image an output needs; a smaller one goes with an image that keeps the output, or
the output grows and the smaller problem looks dearer."""


def has(terms: Sequence[Term], factors: Sequence[Factor], constants: Constants) -> Property:
    """The property of having all these classes, with strides and dilations that have an effect."""

    def check(batch: Batch) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = batch.possible & batch.exercised
        for term in terms:
            found &= np.isin(factors[term.factor].classify(batch, constants), term.members)
        return found

    return check


def shrink(start: Batch, wanted: Property) -> Batch:
    """The smallest problem reachable from ``start`` (one row that has the property) by steps that keep it: the
    cheapest of all single steps is taken until none is cheaper. Cost: ``Batch.cost``."""
    best = start
    while True:
        steps = one_step_smaller(best)
        steps = steps.take(steps.possible)
        steps = steps.take(steps.cost < best.cost[0])
        steps = steps.take(wanted(steps))
        if len(steps) == 0:
            return best
        best = steps.take(np.array([int(np.argmin(steps.cost))]))


def _smaller(value: int, least: int) -> list[int]:
    """Smaller values to try: the least ones, then steps down by fractions of the value, so that 2^30 takes few."""
    if value <= least + 8:
        return list(range(least, value))
    fractions = [value - (value >> shift) for shift in range(1, value.bit_length(), 1 if value < 256 else 3)]
    return sorted(
        {least, least + 1, least + 2, value // 8, value - value % 8, value - 8, value - 1, *fractions} - {value}
    )


def one_step_smaller(row: Batch) -> Batch:
    """All problems one step smaller than the only row of ``row``."""
    changes: list[dict[tuple[str, int], int]] = []
    for name in _SCALARS:
        value = int(getattr(row, name)[0])
        changes += [{(name, -1): smaller} for smaller in _smaller(value, 1)]
    axes = range(AXES - int(row.ndim[0]), AXES)
    at = {(name, axis): int(getattr(row, name)[0, axis]) for name in _SPATIAL for axis in axes}
    for (name, axis), value in at.items():
        changes += [{(name, axis): smaller} for smaller in _smaller(value, _SPATIAL[name])]
    for name, axis in [(name, axis) for name in _SPANS for axis in axes]:
        spared = _spared(row, name, axis)
        for smaller in _smaller(at[name, axis], 1):
            image = at["input", axis] - spared * (at[name, axis] - smaller)
            changes.append({(name, axis): smaller, ("input", axis): max(1, image)})
    for group in _TOGETHER:
        for amount in (1, 2, *(max(at[name, axis] for name in group for axis in axes) >> s for s in (1, 3, 6))):
            change = {(name, axis): at[name, axis] - amount for name in group for axis in axes}
            changes += [{key: v for key, v in change.items() if key[1] == axis} for axis in axes]
            changes.append(change)
    for name in _SPATIAL:  # isotropic properties need all axes at once
        for smaller in _smaller(max(at[name, axis] for axis in axes), _SPATIAL[name]):
            changes.append({(name, axis): min(smaller, at[name, axis]) for axis in axes})
    changes += [{(name, -1): value} for name, value in PLAIN_VALUES.items() if getattr(row, name)[0] != value]
    changes = [
        c for c in changes if all(v >= _SPATIAL.get(name, PLAIN_VALUES.get(name, 1)) for (name, _), v in c.items())
    ]
    columns = {name: np.repeat(column, len(changes), axis=0) for name, column in row.columns().items()}
    for index, change in enumerate(changes):
        for (name, axis), value in change.items():
            if axis < 0:
                columns[name][index] = value
            else:
                columns[name][index, axis] = value
    return Batch(row.direction, **columns)


def _spared(row: Batch, name: str, axis: int) -> int:
    """Image cells that one less of the quantity saves at the same output."""
    counts = {"filter": row.dilation, "stride": row.output - 1, "dilation": row.filter - 1}
    return int(counts[name][0, axis])


def search(
    wanted: Sequence[Property], pool: Batch, seed: int = 1, generations: int = 12, breed: int = 3000
) -> Batch | None:
    """A problem with all properties, bred from the pool: children take each quantity from one of two parents, and
    the ones with the most properties breed on. None if none was found."""
    rng = np.random.default_rng(seed)
    parents = pool.take(_fittest(pool, wanted, breed))
    for _ in range(generations):
        scores = _score(parents, wanted)
        if int(scores.max()) == len(wanted):
            return parents.take(np.array([int(np.argmax(scores))]))
        stranger = pool.take(rng.integers(0, len(pool), len(parents)))
        partner = parents.take(rng.integers(0, len(parents), len(parents)))
        children = [_cross(parents, other, rng) for other in (partner, stranger)]
        family = concatenate([parents, *children])
        family = family.take(family.possible)
        parents = family.take(_fittest(family, wanted, breed))
    return None


def _score(batch: Batch, wanted: Sequence[Property]) -> Ints:
    return np.asarray(np.sum([check(batch) for check in wanted], axis=0), dtype=np.int64)


def _fittest(batch: Batch, wanted: Sequence[Property], count: int) -> Ints:
    return np.argsort(-_score(batch, wanted), kind="stable")[:count]


def _cross(one: Batch, other: Batch, rng: np.random.Generator) -> Batch:
    """Children of the pairs (one[i], other[i]); spatial quantities cross only between equal dimensions."""
    same = one.ndim == other.ndim
    columns: dict[str, Ints] = {}
    for name, column in one.columns().items():
        mix = (rng.random(column.shape) < 0.3) & (same if column.ndim == 1 else same[:, None])
        columns[name] = np.where(mix, getattr(other, name), column)
    return Batch(one.direction, **columns)
