"""Text that every reader takes: legal in XML, literal in Markdown, short enough for a dashboard, aligned in tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# XML 1.0, production Char: everything else makes the whole file unreadable, escaped or not.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

LIMIT = 64 * 1024
"""Bytes of output kept for a test, half from the head and half from the tail: the cause is at one of the ends."""


def legal(text: str) -> str:
    """Replace every character that XML forbids by a question mark."""
    return _ILLEGAL.sub("?", text)


def capped(text: str, limit: int = LIMIT) -> str:
    """Cut the middle of a text so that it has at most ``limit`` bytes of UTF-8, and note how much is gone."""
    data = text.encode(errors="replace")
    if len(data) <= limit:
        return text
    # The note about the cut takes bytes too; two digits more than the length of the data is plenty.
    note = "\n... {} bytes left out ...\n"
    half = max(0, (limit - len(note) - len(str(len(data)))) // 2)
    head, tail = data[:half].decode(errors="ignore"), data[len(data) - half :].decode(errors="ignore")
    return head + note.format(len(data) - len(head.encode()) - len(tail.encode())) + tail


_MARKUP = re.compile(r"[\\`*_{}\[\]<>|#~&]")
_LIST = re.compile(r"^(?:[-+=]|\d+(?=[.)]))")
_HTML = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def literal(text: object, limit: int = 500) -> str:
    """Return one line of Markdown that shows ``text`` as it is, also in a cell of a table."""
    escaped = _MARKUP.sub(lambda match: _HTML.get(match[0], f"\\{match[0]}"), one_line(text, limit))
    return _LIST.sub(lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", escaped)


def code(text: object, limit: int = 500) -> str:
    """Return a code span of one line, literal text if it holds a pipe, which would end a table's cell."""
    shown = one_line(text, limit)
    if not shown:
        return ""
    if "|" in shown:
        return literal(text, limit)
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    padding = " " if "`" in shown else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def one_line(text: object, limit: int = 500) -> str:
    """Return legal text without line breaks, cut at ``limit`` characters."""
    flat = " ".join(legal(str(text)).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 4]} ..."


def columns(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Format the lines of a table: numbers to the right, all else to the left, without trailing spaces."""
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
    """Format a count with its noun: ``1 case``, ``2 cases``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
