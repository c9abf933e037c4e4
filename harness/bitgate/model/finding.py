"""What a diagnosis rule says of wrong cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeAlias


class Role(IntEnum):
    """What a finding says: why the cells are wrong, which cells are, or what stands in them."""

    CAUSE = 0
    PLACE = 1
    CONTENT = 2


@dataclass(frozen=True)
class Finding:
    """One rule's answer. ``kind`` is one of record.KINDS; ``text`` a clause of a sentence; evidence is small JSON.

    ``score`` orders findings of the same role, 1 being certain. ``implies`` names the kinds that this one already
    tells, so that they are not reported twice.
    """

    kind: str
    role: Role
    score: float
    text: str
    evidence: dict[str, Any] = field(default_factory=dict)
    implies: frozenset[str] = frozenset()
    along: str | None = None
    """Of a place along one axis: the letters of the result that need not be told again. None: a place of all axes."""
    names_cells: bool = False
    """A cause whose text says which cells are wrong: their number and what stands in them need not be told again."""


Rule: TypeAlias = Callable[[Any], "Finding | None"]
"""A pure function of a ``bitgate.verify.diagnose.Scene`` of the operation's problems; None: it has nothing to say."""
