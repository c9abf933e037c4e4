"""Many problems at once, as columns of integers: what factors classify, draws give and steps of shrinking make."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bitgate.model.problem import Problem

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

Self = TypeVar("Self", bound="Candidates")


class Candidates(ABC):
    """A number of problems of one operation; arrays have one entry for each problem, shape (len,)."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self: Self, rows: Ints | Mask) -> Self:
        """Return these rows, by number or by mask."""

    @abstractmethod
    def joined(self: Self, other: Self) -> Self:
        """Return these problems and then the others."""

    @abstractmethod
    def problem(self, row: int) -> Any:
        """Return row ``row`` as a problem."""

    @property
    @abstractmethod
    def possible(self) -> Mask:
        """The problem exists."""

    @property
    def exercised(self) -> Mask:
        """Every quantity has an effect: the problem tries what it names."""
        return np.ones(len(self), dtype=np.bool_)

    @property
    @abstractmethod
    def cost(self) -> Floats:
        """The order of 'smallest problem': work and elements moved; ties go to small numbers, then to plain values."""

    @property
    @abstractmethod
    def work(self) -> Floats:
        """The duration of a kernel, in multiply-adds of whole tiles."""

    @property
    @abstractmethod
    def shapes(self) -> int:
        """The number of rows that differ in more than types, layouts and other choices."""

    @abstractmethod
    def smaller(self: Self) -> Self:
        """Return all problems one step smaller than the only row; some are not ``possible``."""

    @abstractmethod
    def crossed(self: Self, other: Self, rng: np.random.Generator) -> Self:
        """Return children of the pairs of rows, each quantity from one of both parents."""


def problems_of(candidates: Candidates) -> Iterator[Problem]:
    """Yield the problems row by row."""
    return (candidates.problem(row) for row in range(len(candidates)))
