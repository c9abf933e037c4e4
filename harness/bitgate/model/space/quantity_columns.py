"""Problems of any operation by their quantities: as columns, at random, one step smaller, and nearby.

A length is itself in its column, a choice is the place of its value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bitgate.model.problem import ProblemError
from bitgate.model.space.candidates import Candidates, Floats, Ints, Mask
from bitgate.model.space.neighbour import Nearby, distance, near_values, smaller_values
from bitgate.model.space.quantity import GAPS, Choice, Length, choices, lengths, word

if TYPE_CHECKING:
    from bitgate.model.space import Domains, ProblemSpace


TILE = 32
"""Kernels work in tiles: a length of 1 costs about as much as one of 32."""


@dataclass(frozen=True)
class QuantityColumns(Candidates):
    """Problems of a space as columns: for each quantity, by name, shape (problems,)."""

    space: ProblemSpace
    columns: Mapping[str, Ints]

    @classmethod
    def of(cls, space: ProblemSpace, problems: list[Any]) -> QuantityColumns:
        every = [space.values_of(problem) for problem in problems]
        columns = {
            quantity.name: np.array(
                [quantity.code(v[quantity.name]) if isinstance(quantity, Choice) else v[quantity.name] for v in every],
                dtype=np.int64,
            )
            for quantity in space.quantities
        }
        if GAPS in space.quantities:  # a gap after a single axis counts, too
            columns["gap"] = np.maximum(columns["gap"], np.minimum(columns["gaps"], 1))
        return cls(space, columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def take(self, rows: Ints | Mask) -> QuantityColumns:
        return QuantityColumns(self.space, {name: column[rows] for name, column in self.columns.items()})

    def joined(self, other: QuantityColumns) -> QuantityColumns:
        both = {name: np.concatenate([column, other.columns[name]]) for name, column in self.columns.items()}
        return QuantityColumns(self.space, both)

    def problem(self, row: int) -> Any:
        """Return row ``row`` as a problem; a choice of an unknown value becomes the plain one."""
        return self.space.problem_of({q.name: self._value(q, int(self.columns[q.name][row])) for q in self._every})

    @property
    def _every(self) -> tuple[Length | Choice, ...]:
        return self.space.quantities

    @staticmethod
    def _value(quantity: Length | Choice, code: int) -> Any:
        if isinstance(quantity, Length):
            return code
        return quantity.values[code if code < len(quantity.values) else 0]

    @cached_property
    def possible(self) -> Mask:
        return np.array([self._exists(row) for row in range(len(self))], dtype=np.bool_)

    def _exists(self, row: int) -> bool:
        try:
            self.problem(row)
        except ProblemError:
            return False
        return True

    @cached_property
    def cost(self) -> Floats:
        sizes = self._lengths
        plain = sum((self.columns[choice.name] != 0).astype(np.float64) for choice in choices(self._every))
        size = np.prod(sizes.astype(np.float64), axis=1)
        return np.asarray(size + 1e-3 * sizes.sum(axis=1) + 1e-5 * plain, dtype=np.float64)

    @cached_property
    def work(self) -> Floats:
        whole = [
            self.columns[length.name] if length.tile is None else -(-self.columns[length.name] // TILE) * TILE
            for length in lengths(self._every)
        ]
        return np.asarray(np.prod(np.stack(whole, axis=1).astype(np.float64), axis=1), dtype=np.float64)

    @property
    def shapes(self) -> int:
        return len(np.unique(self._lengths, axis=0))

    @cached_property
    def _lengths(self) -> Ints:
        """(problems, lengths)."""
        return np.stack([self.columns[length.name] for length in lengths(self._every)], axis=1)

    def smaller(self) -> QuantityColumns:
        now = {name: int(column[0]) for name, column in self.columns.items()}
        changes = list(smaller_steps(now, self._every))
        columns = {name: np.repeat(column, len(changes)) for name, column in self.columns.items()}
        for row, change in enumerate(changes):
            for name, value in change.items():
                columns[name][row] = value
        return QuantityColumns(self.space, columns)

    def crossed(self, other: QuantityColumns, rng: np.random.Generator) -> QuantityColumns:
        mixed = {
            name: np.where(rng.random(len(self)) < 0.3, other.columns[name], column)
            for name, column in self.columns.items()
        }
        return QuantityColumns(self.space, mixed)


def smaller_steps(now: Mapping[str, int], quantities: tuple[Length | Choice, ...]) -> Iterator[dict[str, int]]:
    """Yield the changes that make a problem one step smaller, choices by code; types stay as they are.

    A change is of a length, of all lengths at once (some are tied to each other), or of a choice that becomes plain.
    """
    names = [length.name for length in lengths(quantities)]
    for name in names:
        yield from ({name: value} for value in smaller_values(now[name], 1))
    for divisor in (2, 4):
        yield {name: max(1, now[name] // divisor) for name in names}
    yield from ({c.name: 0} for c in choices(quantities) if c.name != "dtypes" and now[c.name] != 0)


POOL = 20_000
SMALL = (1, 1, 2, 3, 4, 5, 7, 8, 8, 9, 12, 15, 16, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65)
LARGE = (*SMALL, 48, 100, 127, 127, 128, 128, 129, 129, 130, 136, 256, 257, 300, 512)
FEW = (1, 1, 1, 2, 2, 3, 4)
PLAIN = 0.5
"""Share of problems in which a choice has its plain value, in addition to those that draw it."""


def draw(
    space: ProblemSpace, seed: Sequence[int], size: int, codes: Mapping[str, tuple[int, ...]], *, large: bool
) -> QuantityColumns:
    """Draw ``size`` problems, the same for the same arguments; ``codes`` are the values that choices may have."""
    rng = np.random.default_rng([*seed, space.salt])
    columns = {}
    for quantity in space.quantities:
        if isinstance(quantity, Length):
            usual = LARGE if large else SMALL
            columns[quantity.name] = rng.choice(np.array(FEW if quantity.tile is None else usual, np.int64), size)
        else:
            allowed = np.array(codes.get(quantity.name, range(len(quantity.values))), np.int64)
            drawn = rng.choice(allowed, size)
            plain = rng.random(size) < PLAIN if 0 in allowed else np.zeros(size, np.bool_)
            columns[quantity.name] = np.where(plain, 0, drawn)
    return QuantityColumns(space, columns)


@lru_cache(maxsize=8)
def witnesses(space: ProblemSpace, domains: Domains) -> QuantityColumns:
    """Return the pool, cheapest problem first, so that the first witness of a combination is a small one."""
    pool = draw(space, (1,), POOL, dict(domains), large=True)
    pool = pool.take(pool.possible)
    return pool.take(np.argsort(pool.cost, kind="stable"))


FAR = {"layout": 2.5, "dtypes": 4.0}
"""The distance between the values of a choice; 2 for choices not listed."""

SPOKEN = {"op": "operation", "dtypes": "types"}
COMMON_DTYPES = ("f32", "f16", "bf16")


def changed(space: ProblemSpace, problem: Any, **values: Any) -> Any | None:
    """Return the problem with other values; None if there is no such problem."""
    try:
        return space.problem_of({**space.values_of(problem), **values})
    except ProblemError:
        return None


def smaller(space: ProblemSpace, problem: Any) -> Iterator[Any]:
    """Yield problems one step smaller, in no order."""
    now = space.values_of(problem)
    by_name = {choice.name: choice for choice in choices(space.quantities)}
    codes = {name: by_name[name].code(value) if name in by_name else value for name, value in now.items()}
    for step in smaller_steps(codes, space.quantities):
        values = {name: by_name[name].values[v] if name in by_name else v for name, v in step.items()}
        if (found := changed(space, problem, **values)) is not None:
            yield found


def oddness(space: ProblemSpace, problem: Any) -> tuple[int, int]:
    """Return how many choices are not plain, types aside, and the sum of the lengths."""
    now = space.values_of(problem)
    special = sum(now[c.name] != c.values[0] for c in choices(space.quantities) if c.name != "dtypes")
    return special, sum(now[length.name] for length in lengths(space.quantities))


def nearby(space: ProblemSpace, problem: Any) -> Iterator[Nearby]:
    """Yield problems that differ in one quantity."""
    now = space.values_of(problem)
    for quantity in space.quantities:
        old = now[quantity.name]
        for new, far in _others(quantity, old):
            other = changed(space, problem, **{quantity.name: new})
            if other is not None:
                yield Nearby(SPOKEN.get(quantity.name, quantity.name), word(old), word(new), far, other)


def _others(quantity: Length | Choice, old: Any) -> Iterator[tuple[Any, float]]:
    if isinstance(quantity, Length):
        yield from ((new, distance(old, new)) for new in near_values(old, 1))
        return
    for new in quantity.values:
        if new != old and (quantity.name != "dtypes" or str(new) in COMMON_DTYPES):
            yield new, FAR.get(quantity.name, 2.0)
