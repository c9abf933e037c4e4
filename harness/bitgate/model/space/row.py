"""The fields of rows of a case table that only an operation's problems have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bitgate.core.table_fields import Check


@dataclass(frozen=True)
class AxisField:
    """A field whose alternatives are multiplied.

    ``word`` gives the part of the case id that a value is, empty for none. It precedes the sizes where ``is_layout``,
    otherwise it comes last.
    """

    name: str
    check: Check
    word: Callable[[Any], str] = str
    is_layout: bool = False


@dataclass(frozen=True)
class ShapePattern:
    """The form of the sizes in a case id: a regular expression, and an example for people."""

    pattern: str
    example: str


ANY_SHAPE = ShapePattern(r"[a-z]+\d+([a-z]+\d+)*(_[a-z0-9]+)*", "r64c1000")


@dataclass(frozen=True, eq=False)
class Lengths:
    """Sizes as separate fields: ``needed`` are those without a default, ``shapes`` makes their texts."""

    checks: Mapping[str, Check]
    needed: tuple[str, ...]
    shapes: Callable[[Mapping[str, Any]], tuple[str, ...]]
