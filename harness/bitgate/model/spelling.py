"""Parts of case ids that several operations write: types, element-wise operations, D, gaps and split-K."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from bitgate.model.contraction import Contraction
from bitgate.model.d_form import DForm
from bitgate.model.dtype import DTYPES, DtypeSet
from bitgate.model.elementwise import ELEMENTWISE, FACTOR, OPERAND_ELEMENTWISE, Elementwise, factor_of
from bitgate.model.gap import GAP_WORDS, Gap, gap_of
from bitgate.model.problem import ProblemError

_ELEMENTWISE_WORDS = {name: ("op", op) for name, op in ELEMENTWISE.items()} | {
    prefix + name: (f"{prefix}_op", ELEMENTWISE[name]) for prefix in ("in", "wei") for name in OPERAND_ELEMENTWISE
}
"""The field of the problem that a word of a case id sets, and to what."""


_FACTORS = {"a": "alpha", "b": "beta"}
"""The factor of the operation that a letter with a number after it sets."""

_D_WORD = re.compile(r"d(?P<part>[ltb])(?P<text>[a-z0-9]+)")
_D_PARTS = {"l": "layout", "t": "dtype", "b": "broadcast"}


@dataclass
class Tail:
    """The meaning of the words after a problem's sizes."""

    elementwise: dict[str, Elementwise] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    d_form: dict[str, Any] = field(default_factory=dict)
    gap: bool = False
    split_k: int = 1
    gaps: list[Gap] = field(default_factory=list)

    @property
    def said(self) -> dict[str, Any]:
        """The values by the names of a problem's fields. ProblemError for factors that the operation does not take."""
        op = self.elementwise.get("op", ELEMENTWISE["pass"]).with_factors(self.factors)
        rest = {"d_form": DForm(**self.d_form), "gap": self.gap, "gaps": tuple(self.gaps), "split_k": self.split_k}
        return {**self.elementwise, "op": op, **rest}

    def take(self, word: str) -> bool:
        """Take a word, and return whether it is one of these, for the first time."""
        if word in _ELEMENTWISE_WORDS and _ELEMENTWISE_WORDS[word][0] not in self.elementwise:
            name, op = _ELEMENTWISE_WORDS[word]
            self.elementwise[name] = op
        elif word[:1] in _FACTORS and FACTOR.fullmatch(word[1:]) and _FACTORS[word[0]] not in self.factors:
            self.factors[_FACTORS[word[0]]] = factor_of(word[1:])
        elif (d := _D_WORD.fullmatch(word)) and _D_PARTS[d["part"]] not in self.d_form:
            if d["part"] == "t" and d["text"] not in DTYPES:
                return False
            self.d_form[_D_PARTS[d["part"]]] = DTYPES[d["text"]] if d["part"] == "t" else d["text"]
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
    """Return the error for a word that no part of an id takes."""
    known = f"{', '.join(_ELEMENTWISE_WORDS)}, a<n>, b<n>, dl<layout>, dt<dtype>, db<axes>, {GAP_WORDS}, sk<n>"
    return ProblemError(f"case '{text}': '{word}' is not a part of a case id ({numbers}{known}), or stands twice")


def tail_words(problem: Contraction) -> list[str]:
    """Return the canonical words after the sizes."""
    words = [*elementwise_words(problem), *problem.d_form.words]
    if problem.gap:
        words.append("gap")
    words += map(str, problem.gaps)
    if problem.split_k != 1:
        words.append("skauto" if problem.split_k == -1 else f"sk{problem.split_k}")
    return words


def tail_in_words(problem: Contraction) -> list[str]:
    """Return the words after the sizes for people."""
    words = [*elementwise_words(problem), *problem.d_form.words]
    if problem.gap:
        words.append("strided")
    words += [gap.in_words for gap in problem.gaps]
    if problem.split_k != 1:
        words.append("split-K " + ("auto" if problem.split_k == -1 else str(problem.split_k)))
    return words


def elementwise_words(problem: Contraction) -> list[str]:
    """Return the operations that change something, as a case id names them: ``bilinear``, ``a1p2``, ``inscale``."""
    operands = {"in": problem.in_op, "wei": problem.wei_op}
    own = problem.op.words if problem.op.name != "pass" else ()
    return [*own, *(prefix + op.name for prefix, op in operands.items() if op.name != "pass")]


def take_dtypes(text: str, words: list[str]) -> DtypeSet:
    """Take the types from the beginning of the words and return them: one or three, and compute types."""
    taken: list[str] = []
    while words and len(taken) < 3 and words[0] in DTYPES:
        taken.append(words.pop(0))
    if len(taken) not in (1, 3):
        raise ProblemError(f"case '{text}': after the pass stand one dtype or three; known: {', '.join(DTYPES)}")
    while words and words[0].startswith("ct"):
        taken.append(words.pop(0))
    try:
        return DtypeSet.parse("_".join(taken))
    except ValueError as error:
        raise ProblemError(f"case '{text}': {error}") from None
