"""Problems around a given one: what a shrink makes smaller, and what it changes to see which quantity matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ROUND_LENGTHS = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64)
"""The lengths at which kernels take another path."""


@dataclass(frozen=True)
class Nearby:
    """A problem that differs from another in one quantity; ``distance`` says how much, 1 for twice as much or so."""

    quantity: str
    old: str
    new: str
    distance: float
    problem: Any


def smaller_values(value: int, least: int) -> list[int]:
    """Return smaller values to try: the least ones, then steps down by fractions, so that 2^30 takes few steps."""
    if value <= least + 8:
        return list(range(least, value))
    fractions = [value - (value >> shift) for shift in range(1, value.bit_length(), 1 if value < 256 else 3)]
    return sorted(
        {least, least + 1, least + 2, value // 8, value - value % 8, value - 8, value - 1, *fractions} - {value}
    )


def near_values(value: int, least: int) -> list[int]:
    """Return values around, and the round numbers, the nearest first."""
    around = {value + step for step in (-2, -1, 1, 2)} | {least, *ROUND_LENGTHS, 2 * value}
    return sorted((v for v in around if v >= least and v != value), key=lambda v: distance(value, v))


def distance(old: int, new: int) -> float:
    """Return a relative distance: 1 to 2 is as far as 8 to 16, and down is a little nearer than up."""
    low, high = sorted((old, new))
    return (high + 1) / (low + 1) - (0.01 if new < old else 0.0)
