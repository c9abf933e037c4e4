"""Tables for people: aligned, plain, and the same when piped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def columns(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table: numbers to the right, all else to the left; nothing trails."""
    table = [list(map(str, row)) for row in rows]
    right = [bool(table) and all(_is_number(row[place]) for row in table) for place in range(len(header))]
    lines = [list(header), *table]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
    return [
        "  ".join(
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]


def _is_number(text: str) -> bool:
    return text.rstrip(" %s").replace(".", "", 1).replace("-", "", 1).isdigit() or not text


def counted(count: int, noun: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
