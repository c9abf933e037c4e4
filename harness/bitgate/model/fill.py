"""A fill by its name: what a case's data are, and why bits, or bounds, say something of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Make = Callable[[Any, int], Mapping[str, NDArray[Any]]]
"""``make(problem, seed)``: the cells of every tensor that is read, by role, in logical order; its type holds each."""


DEFAULT = "exact"
"""The fill that runs where nobody asks for another."""


@dataclass(frozen=True)
class Fill:
    """``make`` is None where the core makes the data. ``exact``: every cell of the result is one bit pattern, whatever
    the order of summation; ``reason`` says why. ``locates``: what a case shows is which cells change, and the numbers
    in them are worth no stored digest."""

    name: str
    reason: str
    make: Make | None = None
    exact: bool = False
    locates: bool = False

    @property
    def is_stored(self) -> bool:
        """Do digests of its results stand in the suites' files? They are then the same on every target."""
        return self.exact and not self.locates


CORE_FILLS = (
    Fill("exact", "integers, of which the accumulator holds every sum in any order", exact=True),
    Fill("decimal", "real numbers, each cell within the bound of its own sum"),
    Fill("special", "small integers and the edges of each type"),
    Fill("codes", "every bit pattern of the type in turn"),
    Fill("probe", "one-hot data: what a cell holds tells which element reached it", exact=True, locates=True),
)
"""What the core can make for any operation that is multilinear in its operands."""
