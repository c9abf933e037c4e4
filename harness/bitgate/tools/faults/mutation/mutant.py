"""A mutant: one small generic edit of one source file, with its place, and the condition under which it acts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256

CONDITIONAL = "conditional"
"""The class of mutants that act under a condition, whatever their edit is."""
ALWAYS = -1
"""The seed of a mutant without a condition."""


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
    seed: int = ALWAYS
    """The seed of its condition."""
    condition: str = ""
    """The condition in words; empty where it has none, or before it is drawn."""

    @property
    def is_conditional(self) -> bool:
        return self.seed != ALWAYS

    @property
    def edit(self) -> Mutant:
        """The mutant without its condition: several may share the edit."""
        return replace(self, seed=ALWAYS, condition="")

    @property
    def operator_class(self) -> str:
        return CONDITIONAL if self.is_conditional else self.operator

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def name(self) -> str:
        edit = f"{self.place} {self.operator}: {short(self.original)} -> {short(self.mutated) or '(nothing)'}"
        return f"{edit} where {self.condition}" if self.condition else edit

    @property
    def digest(self) -> str:
        parts = [self.file, str(self.start), str(self.end), self.mutated, self.context]
        parts += [str(self.seed)] if self.is_conditional else []
        return sha256("\0".join(parts).encode()).hexdigest()[:16]


def short(text: str, most: int = 90) -> str:
    """Shorten a text to one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 4]} ..."
