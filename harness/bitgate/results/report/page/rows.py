"""The table of all cases as compact JSON: rows of numbers, of which most stand for words that many rows share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

BYTES = 9 << 20
"""Bytes of the table; green cases that no longer fit are left out, and counted."""


class TableRow(NamedTuple):
    """One verdict in the table. The last field is a number, all others are words; ``page`` is a link."""

    verdict: str
    target: str
    device: str
    suite: str
    case: str
    kernel: str
    how: str
    kind: str = ""
    state: str = ""
    cause: str = ""
    says: str = ""
    repro: str = ""
    page: str = ""
    ms: int = 0


def table(rows: Iterable[TableRow]) -> tuple[str, int]:
    """Return the JSON document of rows, and how many of them did not fit."""
    words: dict[str, int] = {}
    lines: list[str] = []
    size = left_out = 0
    for row in rows:
        if size > BYTES:
            left_out += 1
            continue
        numbers = []
        for word in row[:-1]:
            if word not in words:
                words[word] = len(words)
                size += len(json.dumps(word)) + 1
            numbers.append(words[word])
        line = ",".join(map(str, (*numbers, row.ms)))
        size += len(line) + 3
        lines.append(f"[{line}]")
    head = f'{{"columns":{json.dumps(TableRow._fields)},"words":{json.dumps(list(words), separators=(",", ":"))}'
    text = f'{head},"left_out":{left_out},"rows":[{",".join(lines)}]}}'
    return _inert(text), left_out


def _inert(text: str) -> str:
    """Escape what could end a script element; JSON has these characters in strings only."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
