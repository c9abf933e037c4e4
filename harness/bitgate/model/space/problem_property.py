"""The properties of a problem, in one word or number: tests choose cases by them, ledgers of known bugs name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class PropertyKind(Enum):
    """The notation of a value: ``3``, ``true``, one of a list of names, ``"3x3"``, ``"bf16_f32_bf16"``."""

    NUMBER = "number"
    FLAG = "flag"
    NAME = "name"
    LENGTHS = "lengths"
    DTYPES = "dtypes"


@dataclass(frozen=True)
class Property:
    """A property of a problem; ``names`` are the values that a NAME can have.

    ``stated``: a row of a case table may state the number, and errors then use these words: ``splits into``.
    """

    of: Callable[[Any], Any]
    kind: PropertyKind = PropertyKind.NUMBER
    names: tuple[str, ...] = ()
    stated: str = ""


def attribute(name: str, kind: PropertyKind = PropertyKind.NUMBER) -> Property:
    """Return the property of an attribute of the problem; several lengths read as ``3x3``."""
    if kind is PropertyKind.LENGTHS:
        return Property(lambda problem: "x".join(map(str, getattr(problem, name))), kind)
    return Property(lambda problem: getattr(problem, name), kind)


COMMON: dict[str, Property] = {
    "ndim": attribute("ndim"),
    "dtypes": Property(lambda problem: str(problem.dtypes), PropertyKind.DTYPES),
}
"""The properties that every problem has."""

GAP = Property(lambda problem: bool(problem.gap or problem.gaps), PropertyKind.FLAG)
"""The property of problems whose tensors may be strided: whether they are, be it one of them along one axis."""
