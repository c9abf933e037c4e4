"""Reduction as an operation, with its case ids.

``reduction_f16_o4l1000i3_max[_gap][_gap<tensor><axis><n>...][_sk<n>|_skauto]``, ``reduction_i8_i32_o4l1000i1_sum``:
types are those of x and of the values, one name if they agree; an index is always i32.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from bitgate.model import DTYPES, Dtype, Operation, ProblemError
from bitgate.model.gap import GAP_WORDS, Gap, gap_of
from bitgate.ops.reduction.problem import Kind, ReductionProblem, types_of

_SIZES = re.compile(r"(?:o(?P<outer>\d+))?l(?P<length>\d+)(?:i(?P<inner>\d+))?")
_KINDS = {kind.value: kind for kind in Kind}


def spell(problem: ReductionProblem) -> str:
    """Return the canonical id."""
    words = ["reduction", types(problem), f"o{problem.outer}l{problem.length}i{problem.inner}", problem.kind.value]
    words += [*["gap"] * problem.gap, *map(str, problem.gaps)]
    if problem.split_k != 1:
        words.append("skauto" if problem.split_k == -1 else f"sk{problem.split_k}")
    return "_".join(words)


def types(problem: ReductionProblem) -> str:
    """Return the types of x and of the values: ``f16``, ``i8_i32``."""
    element, values = problem.dtypes.inp, problem.dtypes.out
    return element.name if element == values else f"{element}_{values}"


def parse(text: str, words: list[str]) -> ReductionProblem:
    """Return the problem of an id; o and i may be left out where they are 1, words after the sizes are in any order.

    Raises ProblemError, which says which part of the id is wrong.
    """
    dtypes: list[Dtype] = []
    while words and words[0] in DTYPES:
        dtypes.append(DTYPES[words.pop(0)])
    if len(dtypes) not in (1, 2):
        raise ProblemError(
            f"case '{text}': after the operation stand the types of x and of the values, or one for both"
        )
    sizes = _SIZES.fullmatch(words[0]) if words else None
    if sizes is None:
        raise ProblemError(f"case '{text}': expected o..l..i.. after the types, found '{words[0] if words else ''}'")
    kinds, gap, split_k = [_KINDS[word] for word in words if word in _KINDS], False, 1
    if len(kinds) != 1:
        raise ProblemError(f"case '{text}': give one of {', '.join(_KINDS)} after the sizes")
    gaps: list[Gap] = []
    for word in words[1:]:
        if word == "gap" and not gap:
            gap = True
        elif split_k == 1 and (found := re.fullmatch(r"sk(\d+|auto)", word)):
            split_k = -1 if found[1] == "auto" else int(found[1])
        elif own := gap_of(word):
            gaps.append(own)
        elif word not in _KINDS:
            known = f"{', '.join(_KINDS)}, {GAP_WORDS}, sk<n>"
            raise ProblemError(f"case '{text}': '{word}' is not a part of a case id ({known}), or stands twice")
    kind = kinds[0]
    made = types_of(dtypes[0], kind)
    if len(dtypes) == 2 and dtypes[1] != made.out:
        raise ProblemError(f"case '{text}': {kind} of {dtypes[0]} is {made.out}, not {dtypes[1]}")
    outer, length, inner = (int(sizes[name] or 1) for name in ("outer", "length", "inner"))
    return ReductionProblem(made, outer, length, inner, kind, gap, split_k, tuple(gaps))


def human(problem: ReductionProblem) -> str:
    """Return the problem for people: ``max f16 4x1000x3 along 1000, strided, in 4 slices``."""
    words = [f"{problem.kind} {types(problem)} {problem.outer}x{problem.length}x{problem.inner} along {problem.length}"]
    words += [*["strided"] * problem.gap, *(gap.in_words for gap in problem.gaps)]
    if problem.split_k != 1:
        words.append("in slices as the kernel likes" if problem.split_k == -1 else f"in {problem.split_k} slices")
    return ", ".join(words)


class Reduction(Operation):
    name = "reduction"
    problem_type = ReductionProblem
    groups: Mapping[str, str] = {
        "numerics": "bitgate.ops.reduction.numerics:ReductionNumerics",
        "space": "bitgate.ops.reduction.space:ReductionSpace",
        "diagnostics": "bitgate.ops.reduction.diagnostics:ReductionDiagnostics",
    }

    def parse(self, text: str, words: list[str]) -> ReductionProblem:
        return parse(text, words)

    def spell(self, problem: ReductionProblem) -> str:
        return spell(problem)

    def human(self, problem: ReductionProblem) -> str:
        return human(problem)

    def reference(self, problem: ReductionProblem, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        from bitgate.ops.reduction.reference import reduced

        return reduced(problem, inputs["x"])


OPERATIONS = (Reduction(),)
