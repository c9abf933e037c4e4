"""Candidates of a localization: edits with which all given cases pass, in the order in which to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from bitgate.tools.faults.mutation.mutant import Mutant

DETOURS = ("bounds", "negation", "logical", "relational", "step", "barrier")
"""Operators whose edits often take another path around the defect."""


@dataclass(frozen=True)
class RepairCandidate:
    """An edit with which all given cases pass.

    ``suspicion`` is high where red cases reach its line and green ones do not. Of ``reds`` other red cases ``passed``
    pass with it, of ``greens`` green ones ``broken`` are red; none were tried before it ``is_confirmed``.
    """

    mutant: Mutant
    suspicion: float
    is_confirmed: bool = False
    reds: int = 0
    passed: int = 0
    greens: int = 0
    broken: int = 0

    @property
    def order(self) -> tuple[object, ...]:
        """A key that is less for what is worth reading first."""
        wrong = self.reds - self.passed + self.broken
        span = self.mutant.end - self.mutant.start
        return (
            not self.is_confirmed,
            wrong,
            self.broken,
            self.mutant.operator in DETOURS,
            -self.suspicion,
            span,
            self.mutant,
        )

    def as_json(self) -> dict[str, Any]:
        mutant = self.mutant
        return {
            "file": mutant.file,
            "line": mutant.line,
            "last_line": mutant.last_line,
            "column": mutant.column,
            "operator": mutant.operator,
            "original": mutant.original,
            "mutated": mutant.mutated,
            "reds": self.reds,
            "passed": self.passed,
            "greens": self.greens,
            "broken": self.broken,
        }


@dataclass
class Localization:
    """The result of a localization, as far as it went.

    ``edits``: how many the sources have on lines that all given cases reach; ``tried``: how many of them were tried.
    """

    edits: int = 0
    tried: int = 0
    candidates: list[RepairCandidate] = field(default_factory=list)
    is_interrupted: bool = False

    def lines(self) -> list[tuple[RepairCandidate, int]]:
        """Return the first candidate of each line, and how many others the line has, in the order to read them."""
        found = sorted(self.candidates, key=lambda one: (one.mutant.file, one.mutant.line, *one.order))
        by_line = groupby(found, lambda one: (one.mutant.file, one.mutant.line))
        first = [(own[0], len(own) - 1) for own in (list(group) for _, group in by_line)]
        return sorted(first, key=lambda pair: pair[0].order)

    def as_json(self, top: int) -> dict[str, Any]:
        lines: Sequence[tuple[RepairCandidate, int]] = self.lines()[:top]
        return {
            "edits": self.edits,
            "tried": self.tried,
            "interrupted": self.is_interrupted,
            "candidates": [{**one.as_json(), "others_of_line": others} for one, others in lines],
        }
