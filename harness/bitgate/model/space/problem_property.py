"""What can be said of a problem in one word or number: tests choose cases by it, ledgers of known bugs name it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class PropertyKind(Enum):
    """How a value is written: ``3``, ``true``, one of a list of names, ``"3x3"``, ``"bf16_f32_bf16"``."""

    NUMBER = "number"
    FLAG = "flag"
    NAME = "name"
    LENGTHS = "lengths"
    DTYPES = "dtypes"


@dataclass(frozen=True)
class Property:
    """``names`` are the values that a NAME can have. ``stated``: a row of a case table may state the number, and
    this is what an error says then: ``splits into``."""

    of: Callable[[Any], Any]
    kind: PropertyKind = PropertyKind.NUMBER
    names: tuple[str, ...] = ()
    stated: str = ""


def attribute(name: str, kind: PropertyKind = PropertyKind.NUMBER) -> Property:
    """An attribute of the problem; several lengths read as ``3x3``."""
    if kind is PropertyKind.LENGTHS:
        return Property(lambda problem: "x".join(map(str, getattr(problem, name))), kind)
    return Property(lambda problem: getattr(problem, name), kind)


COMMON: dict[str, Property] = {
    "ndim": attribute("ndim"),
    "dtypes": Property(lambda problem: str(problem.dtypes), PropertyKind.DTYPES),
}
"""What every problem has."""

GAP = Property(lambda problem: bool(problem.gap or problem.gaps), PropertyKind.FLAG)
"""Of problems whose tensors may be strided: are they, be it one of them along one axis?"""
