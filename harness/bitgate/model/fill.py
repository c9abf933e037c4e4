"""A fill by its name: what a case's data are, and why bits, or bounds, say something of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Make = Callable[[Any, int], Mapping[str, NDArray[Any]]]
"""The cells of every tensor that is read, by role, in logical order; ``make(problem, seed)`` gives them in a type
that holds each."""


@dataclass(frozen=True)
class Integers:
    """Integers that the core makes, on a device too: of [-range, range] without 0, each cell kept with probability
    ``share``, else 0."""

    range: int
    share: float = 1.0


DEFAULT = "exact"
"""The fill that runs where no other is asked for."""


@dataclass(frozen=True)
class Fill:
    """The data of a case, by name, and the ``reason`` why bits, or bounds, prove something on them.

    ``make`` is None where the core makes the data. ``exact``: every cell of the result is one bit pattern, whatever the
    order of summation. ``locates``: the positions of changed cells are what matters, so no digest of the result is
    stored. ``integers(problem)`` states what the core makes of all that is read, in place of ``make``.
    """

    name: str
    reason: str
    make: Make | None = None
    exact: bool = False
    locates: bool = False
    integers: Callable[[Any], Integers] | None = None

    @property
    def is_stored(self) -> bool:
        """True if the suites' files have digests of its results, which are then the same on every target."""
        return self.exact and not self.locates


CORE_FILLS = (
    Fill("exact", "integers, of which the accumulator holds every sum in any order", exact=True),
    Fill("decimal", "real numbers, each cell within the bound of its own sum"),
    Fill("special", "small integers and the edges of each type"),
    Fill("codes", "every bit pattern of the type in turn"),
    Fill("probe", "one-hot data: what a cell holds tells which element reached it", exact=True, locates=True),
)
"""The fills that the core makes for any operation that is multilinear in its operands."""
