"""Sizes around a task's own: its tails, odd ones, ones, and a few at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
LONGEST = 300
"""The longest length that is drawn at random; ends of blocks up to 256 lie below."""

Sizes = dict[str, int]

CHANGES: tuple[Callable[[int], int], ...] = (
    lambda n: 1,
    lambda n: n + 1,
    lambda n: n - 1 + n % 2 if n > 1 else 1,
    lambda n: 2 * n + 3,
)
"""One length alone: a one, a tail, an odd one, and a longer one."""


def around(base: Mapping[str, int], seed: int) -> Iterator[Sizes]:
    """Yield sizes around ``base``, each once, those that show most first: without end, the rest at random."""
    rng, seen = np.random.default_rng(seed), {tuple(base.values())}
    for sizes in _candidates(dict(base), rng):
        if tuple(sizes.values()) not in seen:
            seen.add(tuple(sizes.values()))
            yield sizes


def _candidates(base: Sizes, rng: np.random.Generator) -> Iterator[Sizes]:
    yield {name: length + 1 for name, length in base.items()}
    yield dict(zip(base, rng.permutation(PRIMES).tolist(), strict=False)) | dict.fromkeys([*base][len(PRIMES) :], 43)
    yield dict.fromkeys(base, 1)
    for change in CHANGES:
        for name, length in base.items():
            yield {**base, name: change(length)}
    for _ in range(64):
        yield {
            name: int(rng.integers(1, LONGEST)) if rng.random() < 0.5 else length + int(rng.integers(-3, 4)) % 7
            for name, length in base.items()
        }


def shrunk(own: Mapping[str, int], elements: int) -> Iterator[Sizes]:
    """Yield ever smaller sizes: the longest is halved while the product of all is more than ``elements``."""
    sizes = dict(own)
    while int(np.prod([float(one) for one in sizes.values()])) > elements and max(sizes.values()) > 1:
        name = max(sizes, key=lambda one: sizes[one])
        sizes[name] = (sizes[name] + 1) // 2
        yield dict(sizes)
