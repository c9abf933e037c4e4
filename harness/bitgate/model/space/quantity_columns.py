"""Problems of any operation as columns: a length is itself, a choice the place of its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bitgate.model.problem import ProblemError
from bitgate.model.space.candidates import Candidates, Floats, Ints, Mask
from bitgate.model.space.neighbour import smaller_values
from bitgate.model.space.quantity import GAPS, Choice, Length, choices, lengths

if TYPE_CHECKING:
    from bitgate.model.space import ProblemSpace

TILE = 32
"""Kernels work in tiles: a length of 1 costs about as much as one of 32."""


@dataclass(frozen=True)
class QuantityColumns(Candidates):
    """``columns``: for each quantity of the space, by name, shape (problems,)."""

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
        if GAPS in space.quantities:  # one behind a single axis is a gap, too
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
        """A choice of an unknown value comes back as the plain one."""
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
    """What may change for a problem to be one step smaller: a length, all lengths at once (some are tied to each
    other), a choice that becomes the plain one. Choices by code; types stay as they are."""
    names = [length.name for length in lengths(quantities)]
    for name in names:
        yield from ({name: value} for value in smaller_values(now[name], 1))
    for divisor in (2, 4):
        yield {name: max(1, now[name] // divisor) for name in names}
    yield from ({c.name: 0} for c in choices(quantities) if c.name != "dtypes" and now[c.name] != 0)
