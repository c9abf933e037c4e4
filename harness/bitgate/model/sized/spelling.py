"""Case ids of sized problems: ``softmax_f16_r64c1000``, ``attention_f16_b2h8kv2s512t512d64_causal_gap``.

Types, one name if all agree; lengths as name and number, run together; the words of choices; flags that are true.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bitgate.model.dtype import DTYPES, TensorTypes
from bitgate.model.gap import GAP_WORDS, Gap, gap_of
from bitgate.model.problem import ProblemError
from bitgate.model.sized.problem import SizedProblem
from bitgate.model.sized.schema import CHOICE, FLAG, LENGTH

if TYPE_CHECKING:
    from bitgate.model.sized.operation import Sized


def spell(problem: SizedProblem) -> str:
    """Return the canonical id: every field written, but for flags that are false and silent lengths."""
    lengths = "".join(f"{name}{value}" for name, value in _lengths_of(problem))
    gaps = [*["gap"] * problem.gap, *map(str, problem.gaps)]
    return "_".join([problem.operation.name, str(problem.dtypes), lengths, *_words(problem), *gaps])


def human(problem: SizedProblem) -> str:
    """Return the problem for people: ``softmax f16 r=64 c=1000 causal strided``."""
    lengths = [f"{name}={value}" for name, value in _lengths_of(problem)]
    gaps = [*["strided"] * problem.gap, *(gap.in_words for gap in problem.gaps)]
    return " ".join([problem.operation.name, str(problem.dtypes), *lengths, *_words(problem), *gaps])


def _lengths_of(problem: SizedProblem) -> list[tuple[str, Any]]:
    """Return names and values of the lengths, without silent ones that have their default."""
    values, silent = problem.operation.schema.plain(problem.sizes), problem.operation.silent
    sizes = problem.operation.schema.of_kind(LENGTH)
    kept = (size.name for size in sizes if size.name not in silent or values[size.name] != size.default)
    return [(name, values[name]) for name in kept]


def _words(problem: SizedProblem) -> list[str]:
    schema = problem.operation.schema
    values = schema.plain(problem.sizes)
    choices = [str(values[size.name]) for size in schema.of_kind(CHOICE)]
    return choices + [size.name for size in schema.of_kind(FLAG) if values[size.name]]


def parse(operation: Sized, text: str, words: list[str]) -> SizedProblem:
    """Return the problem of the ``words`` after the name; defaults may be left out, a missing flag is false.

    Raises ProblemError, which names the part that is wrong.
    """
    rest = list(words)
    types = [rest.pop(0) for _ in range(len(rest)) if rest[0] in DTYPES]
    if not types:
        raise ProblemError(f"case '{text}': after {operation.name} stand types; known: {', '.join(DTYPES)}")
    values = _lengths(operation, text, rest)
    values |= {size.name: False for size in operation.schema.of_kind(FLAG)}
    by_word: dict[str, tuple[str, Any]] = {
        word: (size.name, word) for size in operation.schema.of_kind(CHOICE) for word in size.words
    }
    by_word |= {size.name: (size.name, True) for size in operation.schema.of_kind(FLAG)}
    gap, gaps, taken = False, list[Gap](), set[str]()
    for word in rest:
        if own := gap_of(word):
            gaps.append(own)
            continue
        name, value = by_word.get(word, (word, True))
        if name in taken or (word not in by_word and word != "gap"):
            known = ", ".join([*by_word, GAP_WORDS])
            raise ProblemError(f"case '{text}': '{word}' is not a part of a case id ({known}), or stands twice")
        taken.add(name)
        gap = gap or word == "gap"
        values |= {} if word == "gap" else {name: value}
    for size in operation.schema.of_kind(CHOICE):
        if size.name not in values and size.default is None:
            raise ProblemError(f"case '{text}': {size.name} is missing: {', '.join(size.words)}")
    try:
        sizes = operation.schema.made(values)
        problem = SizedProblem(operation, TensorTypes.parse("_".join(types)), sizes, gap, tuple(gaps))
        _ = problem.tensors  # as many types as there are tensors
    except ProblemError as error:
        raise ProblemError(f"case '{text}': {error}") from None
    return problem


def _lengths(operation: Sized, text: str, rest: list[str]) -> dict[str, Any]:
    """Take the first word if it is one of lengths, and return them by name."""
    sizes = operation.schema.of_kind(LENGTH)
    parts = [f"(?:{size.name}(?P<{size.name}>\\d+))" + ("" if size.default is None else "?") for size in sizes]
    found = re.fullmatch("".join(parts), rest[0] if rest else "")
    if found is None and any(size.default is None for size in sizes):
        wanted = "".join(f"{size.name}.." for size in sizes)
        said = rest[0] if rest else ""
        raise ProblemError(f"case '{text}': expected {wanted} after the types, found '{said}'")
    if found is None:
        return {}
    rest.pop(0)
    return {name: int(number) for name, number in found.groupdict().items() if number is not None}
