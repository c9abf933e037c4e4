"""Batched GEMM as an operation, with its case ids.

``gemm_f16_rcr_b2m64n64k32[_<op>][_in<op>][_wei<op>][_gap][_gap<a|b|c|d><axis><n>...][_sk<n>|_skauto]``
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bitgate.model import Operation, ProblemError
from bitgate.model.spelling import Tail, not_a_part, tail_in_words, tail_words, take_dtypes
from bitgate.ops.gemm.problem import GEMM_LAYOUTS, GemmProblem, gemm_problem

USUAL_LAYOUT = "rcr"
_SIZES = re.compile(r"(?:b(?P<batch>\d+))?m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)")


def spell(problem: GemmProblem) -> str:
    """Return the canonical id."""
    m, n, k = problem.sizes
    sizes = f"b{problem.batch}m{m}n{n}k{k}"
    return "_".join(["gemm", str(problem.dtypes), problem.layout, sizes, *tail_words(problem)])


def parse(text: str, words: list[str]) -> GemmProblem:
    """Return the problem of an id; a batch of 1 and the layout rcr may be left out. ProblemError names the part that is
    wrong."""
    dtypes = take_dtypes(text, words)
    if words and _SIZES.fullmatch(words[0]):
        words.insert(0, USUAL_LAYOUT)
    layout = words.pop(0) if words else ""
    if layout not in GEMM_LAYOUTS:
        raise ProblemError(f"case '{text}': expected a layout of {', '.join(GEMM_LAYOUTS)}, found '{layout}'")
    sizes = _SIZES.fullmatch(words[0]) if words else None
    if sizes is None:
        raise ProblemError(
            f"case '{text}': expected b..m..n..k.. after the layout, found '{words[0] if words else ''}'"
        )
    tail = Tail()
    for word in words[1:]:
        if not tail.take(word):
            raise not_a_part(text, word)
    batch, m, n, k = (int(sizes[name] or 1) for name in ("batch", "m", "n", "k"))
    return gemm_problem(dtypes, layout, batch, m, n, k, **tail.said)


def human(problem: GemmProblem) -> str:
    """Return the problem for people: ``gemm f16 RCR batch=2 64x64x32``."""
    sizes = [f"batch={problem.batch}", "x".join(map(str, problem.sizes))]
    return " ".join(["gemm", str(problem.dtypes), problem.layout.upper(), *sizes, *tail_in_words(problem)])


class Gemm(Operation):
    name = "gemm"
    layouts = frozenset(GEMM_LAYOUTS)
    matrices = (0, 1, 2)
    problem_type = GemmProblem
    groups: Mapping[str, str] = {
        "numerics": "bitgate.ops.gemm.numerics:GemmNumerics",
        "space": "bitgate.ops.gemm.space:GemmSpace",
        "diagnostics": "bitgate.ops.gemm.diagnostics:GemmDiagnostics",
    }

    def parse(self, text: str, words: list[str]) -> GemmProblem:
        return parse(text, words)

    def spell(self, problem: GemmProblem) -> str:
        return spell(problem)

    def human(self, problem: GemmProblem) -> str:
        return human(problem)


OPERATIONS = (Gemm(),)
