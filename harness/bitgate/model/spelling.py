"""Parts of case ids that several operations write: types, element-wise operations, gaps and split-K."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from bitgate.model.contraction import Contraction
from bitgate.model.dtype import DTYPES, DtypeSet
from bitgate.model.elementwise import ELEMENTWISE, OPERAND_ELEMENTWISE, Elementwise
from bitgate.model.gap import GAP_WORDS, Gap, gap_of
from bitgate.model.problem import ProblemError

_ELEMENTWISE_WORDS = {name: ("op", op) for name, op in ELEMENTWISE.items()} | {
    prefix + name: (f"{prefix}_op", ELEMENTWISE[name]) for prefix in ("in", "wei") for name in OPERAND_ELEMENTWISE
}
"""Word of a case id -> the field of the problem that it sets, and to what."""


@dataclass
class Tail:
    """What the words behind a problem's sizes say."""

    elementwise: dict[str, Elementwise] = field(default_factory=dict)
    gap: bool = False
    split_k: int = 1
    gaps: list[Gap] = field(default_factory=list)

    @property
    def said(self) -> dict[str, Any]:
        """By the names of a problem's fields."""
        return {**self.elementwise, "gap": self.gap, "gaps": tuple(self.gaps), "split_k": self.split_k}

    def take(self, word: str) -> bool:
        """Is the word one of these, for the first time?"""
        if word in _ELEMENTWISE_WORDS and _ELEMENTWISE_WORDS[word][0] not in self.elementwise:
            name, op = _ELEMENTWISE_WORDS[word]
            self.elementwise[name] = op
        elif word == "gap":
            self.gap = True
        elif word == "skauto":
            self.split_k = -1
        elif re.fullmatch(r"sk\d+", word):
            self.split_k = int(word[2:])
        elif gap := gap_of(word):
            self.gaps.append(gap)
        else:
            return False
        return True


def not_a_part(text: str, word: str, numbers: str = "") -> ProblemError:
    """The error for a word that nothing takes."""
    known = f"{', '.join(_ELEMENTWISE_WORDS)}, {GAP_WORDS}, sk<n>"
    return ProblemError(f"case '{text}': '{word}' is not a part of a case id ({numbers}{known}), or stands twice")


def tail_words(problem: Contraction) -> list[str]:
    """The canonical words behind the sizes."""
    words = elementwise_words(problem)
    if problem.gap:
        words.append("gap")
    words += map(str, problem.gaps)
    if problem.split_k != 1:
        words.append("skauto" if problem.split_k == -1 else f"sk{problem.split_k}")
    return words


def tail_in_words(problem: Contraction) -> list[str]:
    """The same as people read it."""
    words = elementwise_words(problem)
    if problem.gap:
        words.append("strided")
    words += [gap.in_words for gap in problem.gaps]
    if problem.split_k != 1:
        words.append("split-K " + ("auto" if problem.split_k == -1 else str(problem.split_k)))
    return words


def elementwise_words(problem: Contraction) -> list[str]:
    """The operations that do something, as a case id names them: ``bilinear``, ``inscale``, ``weirelu``."""
    every = {"": problem.op, "in": problem.in_op, "wei": problem.wei_op}
    return [prefix + op.name for prefix, op in every.items() if op.name != "pass"]


def take_dtypes(text: str, words: list[str]) -> DtypeSet:
    """The types that the words begin with, which are taken from them: one or three, and a compute type."""
    taken: list[str] = []
    while words and len(taken) < 3 and words[0] in DTYPES:
        taken.append(words.pop(0))
    if len(taken) not in (1, 3):
        raise ProblemError(f"case '{text}': after the pass stand one dtype or three; known: {', '.join(DTYPES)}")
    if words and words[0].startswith("ct"):
        taken.append(words.pop(0))
    try:
        return DtypeSet.parse("_".join(taken))
    except ValueError as error:
        raise ProblemError(f"case '{text}': {error}") from None
