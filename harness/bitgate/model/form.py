"""The maths of an operation that is multilinear in its operands, without rounding: from it follow how many terms a sum
has, what it may reach, exact results, and which element meets which."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Form(ABC):
    """A multilinear form: ``apply`` is linear in each operand.

    ``axes`` name the axes of the operands and of the result, in logical order: a name that two tensors share counts the
    same index in both. A sum runs over the names that the result does not have.
    """

    @property
    @abstractmethod
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        """Names by role."""

    @property
    @abstractmethod
    def result(self) -> str:
        """The role of what ``apply`` returns."""

    @abstractmethod
    def apply(self, arrays: Mapping[str, Array]) -> Array:
        """Return the result of operands by role, in their own type, int64 or f64, which has to hold every sum."""

    @cached_property
    def operands(self) -> tuple[str, ...]:
        return tuple(role for role in self.axes if role != self.result)

    def shared_axes(self, role: str) -> tuple[int, ...]:
        """Return the axes of an operand that the result has too: elements that differ in them meet no common cell."""
        return tuple(axis for axis, name in enumerate(self.axes[role]) if name in self.axes[self.result])

    def own_axes(self, role: str) -> tuple[int, ...]:
        """Return the axes that no other tensor has, such as the positions of an image: they have edges."""
        others = {name for other, names in self.axes.items() if other != role for name in names}
        return tuple(axis for axis, name in enumerate(self.axes[role]) if name not in others)

    def reaches(self, role: str, axis: int, coordinate: int) -> bool:
        """Return whether the relation between axes leads to a coordinate of one of ``own_axes``, inside or outside."""
        return True

    @cached_property
    def summed(self) -> tuple[str, ...]:
        """The names that an index of the reduction consists of: shared by all tensors, then shared by all operands
        only.
        """
        common = set.intersection(*(set(self.axes[role]) for role in self.operands))
        everywhere = [name for name in self.axes[self.result] if name in common]
        first = self.operands[0]
        return (*everywhere, *(name for name in self.axes[first] if name in common and name not in everywhere))

    def terms(self, lengths: Mapping[str, tuple[int, ...]]) -> int:
        """Return the largest number of products in one cell: the form of ones."""
        ones = {role: np.broadcast_to(np.int64(1), lengths[role]) for role in self.operands}
        return int(self.apply(ones).max(initial=0))

    def largest_sum(self, arrays: Mapping[str, Array]) -> float:
        """Return the largest sum of magnitudes in one cell, in f64.

        No partial sum in any order exceeds it by more than the rounding of f64.
        """
        with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
            magnitudes = {role: np.abs(np.asarray(arrays[role], np.float64)) for role in self.operands}
            return float(self.apply(magnitudes).max(initial=0.0))


__all__ = ["Array", "Form"]
