"""Numbers of a problem that a planted bug may depend on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bitgate.model.space.candidates import Ints


@dataclass(frozen=True)
class Plantable:
    """A number of a problem: in C++ as ``run`` of a family sees it, and as a column of candidates.
    ``relations``: what a condition may say of it, such as ``% 8 != 0``."""

    name: str
    cpp: str
    of: Callable[[Any], Ints]
    relations: tuple[str, ...]
