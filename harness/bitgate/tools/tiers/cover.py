"""Greedy covering: which cases of a pool reach every pair of classes, and then triples, for the fewest seconds."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Goals:
    """Combinations of classes that a list should reach, numbered: a row of ``numbers`` holds those of a case.

    ``possible`` counts the different ones of the pool. ``sets`` are the factors of each column.
    """

    numbers: Numbers
    total: int
    possible: int
    sets: tuple[tuple[str, ...], ...]


def goals(classes: Sequence[Mapping[str, str]], sets: Iterable[tuple[str, ...]]) -> Goals:
    """Return the combinations of the factor sets that the cases have; a case has one of each set."""
    chosen = tuple(sets)
    names = tuple(dict.fromkeys(name for one in chosen for name in one))
    codes, sizes = _coded(classes, names)
    numbers = np.empty((len(classes), len(chosen)), dtype=np.int32)
    first = 0
    for column, factors in enumerate(chosen):
        value = np.zeros(len(classes), dtype=np.int64)
        for name in factors:
            value = value * sizes[name] + codes[name]
        numbers[:, column] = first + value
        first += prod(sizes[name] for name in factors)
    return Goals(numbers, first, len(np.unique(numbers)), chosen)


def _coded(classes: Sequence[Mapping[str, str]], names: Sequence[str]) -> tuple[dict[str, Ints], dict[str, int]]:
    codes: dict[str, Ints] = {}
    sizes: dict[str, int] = {}
    for name in names:
        known: dict[str, int] = {}
        codes[name] = np.array([known.setdefault(one.get(name, ""), len(known)) for one in classes], dtype=np.int64)
        sizes[name] = len(known)
    return codes, sizes


def pairs_of(names: Sequence[str]) -> list[tuple[str, ...]]:
    return list(combinations(names, 2))


@dataclass(eq=False)
class Cover:
    """A growing choice of cases: ``chosen`` are their places in the pool, in the order in which they were taken."""

    seconds: Sequence[float]
    chosen: list[int] = field(default_factory=list)
    firsts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """For each case the factors of one combination that it was the first to have."""

    @property
    def spent(self) -> float:
        return sum(self.seconds[place] for place in self.chosen)

    def reached(self, wanted: Goals) -> int:
        """Return how many of the combinations the chosen cases have."""
        return len(np.unique(wanted.numbers[self.chosen])) if self.chosen else 0

    def extend(self, wanted: Goals, budget: float = float("inf"), allowed: NDArray[np.bool_] | None = None) -> None:
        """Take cases, each the one with most new combinations a second, until none is new or ``budget`` is spent.

        Only ``allowed`` cases are taken, if that is given.
        """
        is_open = np.ones(wanted.total, dtype=np.bool_)
        if self.chosen:
            is_open[wanted.numbers[self.chosen].ravel()] = False
        taken = set(self.chosen)
        gains = _gains(wanted.numbers, is_open)
        places = range(len(self.seconds)) if allowed is None else np.flatnonzero(allowed).tolist()
        heap = [(-gains[at] / self.seconds[at], at) for at in places if at not in taken and gains[at]]
        heapq.heapify(heap)
        spent = self.spent
        while heap:
            _, at = heapq.heappop(heap)
            row = wanted.numbers[at]
            new = is_open[row]
            gain = int(np.count_nonzero(new))
            if not gain or spent + self.seconds[at] > budget:
                continue
            rate = -gain / self.seconds[at]
            if heap and rate > heap[0][0]:  # a gain only shrinks, so the top of the heap bounds all others
                heapq.heappush(heap, (rate, at))
                continue
            self.firsts[at] = wanted.sets[int(np.argmax(new))]
            is_open[row] = False
            self.chosen.append(at)
            spent += self.seconds[at]


def _gains(numbers: Numbers, is_open: NDArray[np.bool_]) -> list[int]:
    parts = [is_open[numbers[at : at + 256]].sum(axis=1) for at in range(0, len(numbers), 256)]
    return np.concatenate(parts).tolist() if parts else []
