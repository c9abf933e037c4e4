"""Sizes around a task's own: its tails, odd ones, ones, and a few at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice

import numpy as np

PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
LONGEST = 300
"""The longest length that is drawn at random; ends of blocks up to 256 lie below."""

LONGEST_TAIL = 1 << 14
"""The longest of the task's own lengths that is drawn with a tail, where sizes around smaller ones are drawn."""
TAILS = (1, 2, 3, 4, 8, 16)
"""What a length has more for a tail, the first that is taken: some have to be multiples."""

Sizes = dict[str, int]

CHANGES: tuple[Callable[[int], int], ...] = (
    lambda n: 1,
    lambda n: n + 1,
    lambda n: n - 1 + n % 2 if n > 1 else 1,
    lambda n: 2 * n + 3,
)
"""One length alone: a one, a tail, an odd one, and a longer one."""


def tails(base: Mapping[str, int], takes: Callable[[Sizes], bool]) -> list[Sizes]:
    """Return sizes that together have a tail in each length: one for all, or where that is not taken one for each.

    Equal lengths get tails that differ, so that a grid with one in place of the other shows.
    """
    every = [*base.values()]
    whole = {n: one + 1 + 2 * every[:at].count(one) * (one > 1) for at, (n, one) in enumerate(base.items())}
    return [whole] if takes(whole) else [one for name in base for one in _tail(dict(base), name, takes)]


def tails_of_own(own: Mapping[str, int], base: Sizes, elements: int, takes: Callable[[Sizes], bool]) -> list[Sizes]:
    """Return sizes with a tail of the task's own length for each that ``base`` has smaller: blocks may be as long.

    The others are so small that the product of all is about ``elements``.
    """
    found = []
    for name in base:
        length = min(own[name], LONGEST_TAIL)
        if base[name] < length:
            others = {other: n for other, n in base.items() if other != name}
            *_, small = (others, *shrunk(others, max(1, elements // length)))
            found += _tail({other: small.get(other, length) for other in base}, name, takes)
    return found


def _tail(base: Sizes, name: str, takes: Callable[[Sizes], bool]) -> list[Sizes]:
    longer = ({**base, name: base[name] + more} for more in TAILS)
    return [*islice(filter(takes, longer), 1)]


def around(base: Mapping[str, int], seed: int, first: Sequence[Sizes] = ()) -> Iterator[Sizes]:
    """Yield ``first``, and sizes around ``base``, each once, those that show most first: the rest at random."""
    rng, seen = np.random.default_rng(seed), {tuple(base.values())}
    for sizes in chain(first, _candidates(dict(base), rng)):
        if tuple(sizes.values()) not in seen:
            seen.add(tuple(sizes.values()))
            yield sizes


def _candidates(base: Sizes, rng: np.random.Generator) -> Iterator[Sizes]:
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
