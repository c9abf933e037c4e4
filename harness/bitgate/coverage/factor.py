"""What a factor is: a quantity that can differ between two problems so that a kernel behaves differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitgate.coverage.assume import Constants
from bitgate.coverage.batch import Batch
from bitgate.operations.convolution import CONVOLUTIONS, Pass

Codes = NDArray[np.int64]
Measure = Callable[[Batch, Constants], Codes]


@dataclass(frozen=True)
class Class:
    """One class of a factor; ``words`` read in a sentence. A plan-only class needs tensors of gigabytes."""

    name: str
    words: str
    plan_only: bool = False


@dataclass(frozen=True)
class Factor:
    """``classify`` gives each problem of a batch the index of its class. ``wide`` names unions of classes, so that a
    hole over all of them is told once. ``column``: the quantity a table must state for the factor to count."""

    name: str
    how: str
    classes: tuple[Class, ...]
    classify: Measure
    dispatch: bool = False
    wide: tuple[tuple[Class, tuple[str, ...]], ...] = ()
    column: str = ""
    passes: tuple[Pass, ...] = CONVOLUTIONS

    def index(self, name: str) -> int:
        return next(i for i, cls in enumerate(self.classes) if cls.name == name)

    @property
    def plan_only(self) -> NDArray[np.bool_]:
        return np.array([cls.plan_only for cls in self.classes])


def classes(spec: Mapping[str, str], plan_only: tuple[str, ...] = ()) -> tuple[Class, ...]:
    return tuple(Class(name, words, name in plan_only) for name, words in spec.items())


def union(name: str, words: str, *members: str) -> tuple[tuple[Class, tuple[str, ...]], ...]:
    return ((Class(name, words), members),)


def spoken(spec: Mapping[str, str], word: str) -> tuple[Class, ...]:
    """Classes whose words are templates with a place for the quantity's name."""
    return classes({name: words.format(word) for name, words in spec.items()})
