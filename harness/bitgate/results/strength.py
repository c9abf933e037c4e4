"""The strength of a solved list: how many combinations it reaches of those that are possible, as a line and back."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"(\w+) (\w+) (\w+): (\d+) cases, ([\d.]+) s, pairs (\d+) of (\d+), triples (\d+) of (\d+)", re.ASCII
)


@dataclass(frozen=True)
class Strength:
    """The combinations that a tier reaches of a family and an operation, of those that are possible."""

    family: str
    operation: str
    tier: str
    cases: int
    seconds: float
    pairs: tuple[int, int]
    triples: tuple[int, int]


def in_words(one: Strength) -> str:
    """Return a strength as a line."""
    parts = [f"{name} {done} of {of}" for name, (done, of) in (("pairs", one.pairs), ("triples", one.triples))]
    return f"{one.family} {one.operation} {one.tier}: {one.cases} cases, {one.seconds:.1f} s, {', '.join(parts)}"


def strength_in(line: str) -> Strength | None:
    """Return the strength that a line states; None if it states none."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    family, operation, tier, cases, seconds, *counts = found.groups()
    pairs, pairs_of, triples, triples_of = map(int, counts)
    return Strength(family, operation, tier, int(cases), float(seconds), (pairs, pairs_of), (triples, triples_of))
