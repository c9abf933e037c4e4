"""A mutant: one small generic edit of one source file, with its place."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, order=True)
class Mutant:
    """An edit that puts ``mutated`` in place of bytes ``start`` to ``end`` of ``file``, which hold ``original``.

    Lines and columns count from 1.
    """

    file: str
    """Path below the root of its project, or as the compiler names it."""
    start: int
    end: int
    operator: str
    mutated: str
    original: str
    line: int
    column: int
    last_line: int
    context: str = ""
    """Digest of the whole file: the same place in other text is another mutant."""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def name(self) -> str:
        return f"{self.place} {self.operator}: {short(self.original)} -> {short(self.mutated) or '(nothing)'}"

    @property
    def digest(self) -> str:
        parts = (self.file, str(self.start), str(self.end), self.mutated, self.context)
        return sha256("\0".join(parts).encode()).hexdigest()[:16]


def short(text: str, most: int = 90) -> str:
    """Shorten a text to one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 4]} ..."
