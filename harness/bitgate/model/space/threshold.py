"""Thresholds at which host code branches: a number of a case and an edge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Way(Protocol):
    """A case and the way that it took, as its DispatchRecord or its family's prediction says."""

    @property
    def problem(self) -> Any: ...
    @property
    def tile(self) -> tuple[int, int, int] | None:
        """(M, N, K) of the instance; None if it has none."""

    @property
    def vector(self) -> tuple[int, int, int] | None:
        """Elements of a load of A, B and C."""

    @property
    def gemms_count(self) -> int: ...
    @property
    def launches(self) -> int: ...
    @property
    def split_k(self) -> int: ...
    @property
    def split_n(self) -> int: ...
    @property
    def zero_fill(self) -> bool: ...

    def option(self, name: str, otherwise: int) -> int:
        """Return the option's value, or what production has."""


Quantity = Callable[[Way], "int | None"]
"""A quantity of a case; None: it does not apply."""


@dataclass(frozen=True)
class Threshold:
    """Up to the edge is one side, beyond it the other. ``option`` moves the threshold, so that small cases pass it."""

    name: str
    below: str
    beyond: str
    edge: int
    quantity: Quantity
    option: str = ""


def remainder(length: Callable[[Way], int], place: int) -> Quantity:
    """Return the quantity of what a length leaves over whole tiles; ``place`` 0, 1, 2 for M, N, K."""

    def quantity(way: Way) -> int | None:
        return None if way.tile is None else length(way) % way.tile[place]

    return quantity


def blocks(length: Callable[[Way], int], place: int) -> Quantity:
    """Return the quantity of how many tiles a length takes."""

    def quantity(way: Way) -> int | None:
        return None if way.tile is None else -(-length(way) // way.tile[place])

    return quantity


COMMON: tuple[Threshold, ...] = (
    Threshold("launches", "one launch", "several launches", 1, lambda way: way.launches),
    Threshold("zero_fill", "output not cleared first", "output cleared first", 0, lambda way: int(way.zero_fill)),
)
"""The thresholds of any operation."""
