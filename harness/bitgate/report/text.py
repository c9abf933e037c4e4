"""Text that every XML reader takes: legal characters only, and no longer than a dashboard shows."""

from __future__ import annotations

import re

# XML 1.0, production Char: everything else makes the whole file unreadable, escaped or not.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

LIMIT = 64 * 1024
"""Bytes of output kept a test, half from the head and half from the tail: the cause stands at one of the ends."""


def legal(text: str) -> str:
    """``text`` with a question mark for every character that XML forbids."""
    return _ILLEGAL.sub("?", text)


def capped(text: str, limit: int = LIMIT) -> str:
    """``text`` cut in its middle to at most ``limit`` bytes of UTF-8, saying how much is gone."""
    data = text.encode(errors="replace")
    if len(data) <= limit:
        return text
    # The line that tells of the cut needs room too; two digits more than the length of the data is plenty.
    note = "\n... {} bytes left out ...\n"
    half = max(0, (limit - len(note) - len(str(len(data)))) // 2)
    head, tail = data[:half].decode(errors="ignore"), data[len(data) - half :].decode(errors="ignore")
    return head + note.format(len(data) - len(head.encode()) - len(tail.encode())) + tail
