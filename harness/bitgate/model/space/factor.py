"""A factor: a quantity that can differ between two problems so that a kernel behaves differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.space.candidates import Ints, Mask


@dataclass(frozen=True)
class Constants:
    """Elements of a vector load, the tile M x N x K, and the bytes from which a batch is split (or addressed in
    64 bits). The defaults are the common 16-bit instances of the field."""

    vector: int = 8
    tile: tuple[int, int, int] = (128, 128, 32)
    split_n_bytes: int = 2**31


Codes = NDArray[np.uint8]
"""Class indices, shape (problems, factors)."""

Classifier = Callable[[Any, Constants], Ints]
"""A function of candidates of the factor's operation, which returns the index of each one's class."""

PATH = "path"
"""The factor of the path that a problem's dispatch takes: a hole is reported for each of its classes."""


@dataclass(frozen=True)
class Class:
    """One class of a factor; ``words`` read in a sentence. A plan-only class needs tensors of gigabytes."""

    name: str
    words: str
    plan_only: bool = False


@dataclass(frozen=True)
class Factor:
    """A factor: ``classify`` gives each problem of a batch the index of its class.

    ``wide`` names unions of classes, so that a hole over all of them is reported once. ``column`` is the quantity a
    table must state for the factor to count. ``dispatch``: host code branches on it. ``is_granted``: reports mention
    where a path takes a class of it for granted. ``only`` lists the operations, of several that share a table, which
    have it; empty: all.
    """

    name: str
    how: str
    classes: tuple[Class, ...]
    classify: Classifier
    dispatch: bool = False
    wide: tuple[tuple[Class, tuple[str, ...]], ...] = ()
    column: str = ""
    is_granted: bool = False
    only: tuple[str, ...] = ()

    def index(self, name: str) -> int:
        return next(i for i, cls in enumerate(self.classes) if cls.name == name)

    @property
    def plan_only(self) -> NDArray[np.bool_]:
        return np.array([cls.plan_only for cls in self.classes])


def classes(spec: Mapping[str, str], plan_only: tuple[str, ...] = ()) -> tuple[Class, ...]:
    """Return classes by name and words."""
    return tuple(Class(name, words, name in plan_only) for name, words in spec.items())


def union(name: str, words: str, *members: str) -> tuple[tuple[Class, tuple[str, ...]], ...]:
    """Return one union of classes, for ``Factor.wide``."""
    return ((Class(name, words), members),)


def spoken(spec: Mapping[str, str], word: str) -> tuple[Class, ...]:
    """Return classes whose words are templates with a place for the quantity's name."""
    return classes({name: words.format(word) for name, words in spec.items()})


def select(*conditions: Mask) -> Ints:
    """Return the index of the first condition that holds, else their number."""
    codes = np.full(len(conditions[0]), len(conditions), dtype=np.int64)
    for index in range(len(conditions) - 1, -1, -1):
        codes[conditions[index]] = index
    return codes


def classify(candidates: Any, factors: Sequence[Factor], constants: Constants) -> Codes:
    """Return the class of each problem in each factor."""
    codes = np.empty((len(candidates), len(factors)), dtype=np.uint8)
    for column, factor in enumerate(factors):
        codes[:, column] = factor.classify(candidates, constants)
    return codes
