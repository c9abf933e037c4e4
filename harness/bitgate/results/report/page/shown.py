"""Text of a record as a page shows it: on one line, without control characters or changes of direction, and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bitgate.core.untrusted import printable
from bitgate.results.report.text import one_line

WORD = 300
SENTENCE = 2000
ENTRIES = 40
"""Entries of a mapping that are shown."""


def clean(value: object, limit: int = WORD) -> str:
    """Return a value as one bounded line; of a long text no more than is needed is looked at."""
    text = value if isinstance(value, str) else str(value)
    return one_line(printable(one_line(text[: 4 * limit], limit)), limit)


def entries(found: object) -> list[tuple[str, str]]:
    """Return the names and values of a mapping that states something, its first ones only."""
    if not isinstance(found, Mapping):
        return []
    stated = [(name, value) for name, value in list(found.items())[:ENTRIES] if value not in ("", None)]
    return [(clean(name, 60), clean(_flat(value))) for name, value in stated]


def _flat(value: Any) -> object:
    if isinstance(value, (list, tuple)):
        return ", ".join(clean(one, 60) for one in value[:16]) + (" ..." if len(value) > 16 else "")
    return value
