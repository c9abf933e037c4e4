"""Reading numbers out of command lines, with errors that name the word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bitgate.model.problem import ProblemError

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_REAL = re.compile(r"[+-]?(?:[0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,3})?")


def integer(word: str, what: str) -> int:
    """Parse an integer as C does: ``int`` would take 1_000 and other alphabets' digits."""
    if not _INTEGER.fullmatch(word):
        raise ProblemError(f"{what} is '{word[:40]}', not a number")
    return int(word)


def real(word: str, what: str) -> float:
    """Parse a finite decimal number as C does."""
    if not _REAL.fullmatch(word):
        raise ProblemError(f"{what} is '{word[:40]}', not a number")
    return float(word)


def integers(words: Sequence[str], what: str) -> list[int]:
    return [integer(word, f"{what}, word {position}") for position, word in enumerate(words, 1)]
