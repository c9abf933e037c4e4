"""Syntax that a shell takes of a line before a program sees it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from bitgate.model.problem import ProblemError

_ELSEWHERE = re.compile(r"(?:\d*|&)>|\d*<(?!\w)|\|(?!\|)")
"""Begins a word from which on nothing is the program's: where its output goes. ``<args>`` is no such word but stands
for words that are not there."""
_ENDS = ("&&", "||", ";", "&")


def of_one_command(words: Sequence[str], is_program: Callable[[str], bool]) -> list[str]:
    """Return the words up to a redirection, a pipe or the command's end.

    ProblemError if another program's line follows: each must have a separate line, and none is left out silently.
    """
    kept: list[str] = []
    for at, word in enumerate(words):
        if _ELSEWHERE.match(word):
            break
        if word in _ENDS or word.endswith(";"):
            if any(map(is_program, words[at + 1 :])):
                raise ProblemError("several commands: give each a separate line")
            return kept if word in _ENDS else [*kept, word.rstrip(";")]
        kept.append(word)
    return kept
