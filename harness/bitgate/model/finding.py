"""The finding of a diagnosis rule about wrong cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeAlias


class Role(IntEnum):
    """The role of a finding: why the cells are wrong, which cells are, or their contents."""

    CAUSE = 0
    PLACE = 1
    CONTENT = 2


@dataclass(frozen=True)
class Finding:
    """The answer of one rule: ``kind`` is one of record.KINDS, ``text`` a clause of a sentence, ``evidence`` small
    JSON.

    ``score`` orders findings of the same role, 1 being certain. ``implies`` names the kinds that this one already
    reports, so that they are not reported twice.
    """

    kind: str
    role: Role
    score: float
    text: str
    evidence: dict[str, Any] = field(default_factory=dict)
    implies: frozenset[str] = frozenset()
    along: str | None = None
    """The letters of the result that a place along one axis already reports. None: a place of all axes."""
    names_cells: bool = False
    """True of a cause whose text states which cells are wrong: no further line reports their number and contents."""
    examined: int = 0
    """The number of wrong cells that a cause has been shown on; 0: on all of them."""


Rule: TypeAlias = Callable[[Any], "Finding | None"]
"""A rule: a pure function of a ``bitgate.verify.diagnose.Scene`` of the operation's problems; None: no finding."""
