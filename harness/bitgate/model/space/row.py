"""What rows of a case table may say of an operation's problems, beside what they may say of any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bitgate.core.table_fields import Check


@dataclass(frozen=True)
class AxisField:
    """A field whose alternatives are multiplied. ``word``: the part of the case id that a value is, empty for none;
    it stands before the sizes where ``is_layout``, else behind all others."""

    name: str
    check: Check
    word: Callable[[Any], str] = str
    is_layout: bool = False


@dataclass(frozen=True)
class ShapePattern:
    """How the sizes of a case id look: a regular expression, and an example for people."""

    pattern: str
    example: str


ANY_SHAPE = ShapePattern(r"[a-z]+\d+([a-z]+\d+)*(_[a-z0-9]+)*", "r64c1000")


@dataclass(frozen=True, eq=False)
class Lengths:
    """Sizes as fields of their own: ``needed`` are those without a default, ``shapes`` makes the texts of them."""

    checks: Mapping[str, Check]
    needed: tuple[str, ...]
    shapes: Callable[[Mapping[str, Any]], tuple[str, ...]]
