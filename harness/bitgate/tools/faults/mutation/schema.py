"""The mutant schema of a source: all of its mutants in one text, each selected by a switch when it is reached.

    a < b    becomes    (BITGATE_MUTANT(17) ? (a <= b) : (a < b))

Lines stay where they are, so that the compiler's messages on the schema point to the source. Where the compiler
evaluates an expression itself, the schema equals the source. kernels/include/bitgate/mutants.hpp has the switch, for
host and device code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from bitgate.tools.faults.mutation.mutant import Mutant

SEEDED, SEEDED_STATEMENT = "seeded", "seeded statement"
"""The operators of seeded defects: one value, or one statement, in place of another."""
SYNCHRONIZED = "synchronized"
"""The operator of repairs that put a barrier before a statement."""


ATTRIBUTED = 10_000_000
"""The line of a mutant is its number and this, where each has a line of its text alone."""


def schema_of(text: str, file: str, mutants: Mapping[int, Mutant], count: int, attributed: bool = False) -> str:
    """Return the source with its ``mutants``, by number, each selected by the switch. ``count``: of a whole library.

    With ``attributed`` the compiler names a mutant that it rejects by a line that no source has.
    """
    preface = f'#define BITGATE_MUTANTS {count}\n#include "bitgate/mutants.hpp"\n'
    return f'{preface}#line 1 "{file}"\n{behind_switch(text, mutants, attributed)}'


def behind_switch(text: str, mutants: Mapping[int, Mutant], attributed: bool = False) -> str:
    source = text.encode()
    numbered = sorted(mutants.items(), key=lambda item: (item[1].start, -item[1].end, item[0]))
    spans = [
        (start, end, list(group))
        for (start, end), group in groupby(numbered, lambda item: (item[1].start, item[1].end))
    ]
    return _Render(source, spans, attributed).between(0, len(source))


Span = tuple[int, int, Sequence[tuple[int, Mutant]]]


class _Render:
    """A rendering of nested spans, outer ones first: as nodes of a tree they do not overlap in part."""

    def __init__(self, source: bytes, spans: Sequence[Span], attributed: bool) -> None:
        self._source, self._spans, self._next, self._attributed = source, spans, 0, attributed

    def between(self, start: int, end: int) -> str:
        parts, at = [], start
        while self._next < len(self._spans) and self._spans[self._next][1] <= end:
            begin, last, mutants = self._spans[self._next]
            self._next += 1
            parts += [self._slice(at, begin), _choice(mutants, self.between(begin, last), self._attributed)]
            at = last
        return "".join([*parts, self._slice(at, end)])

    def _slice(self, start: int, end: int) -> str:
        return self._source[start:end].decode(errors="replace")


def _choice(mutants: Iterable[tuple[int, Mutant]], original: str, attributed: bool) -> str:
    kept = list(mutants)
    if kept[0][1].operator in (SEEDED_STATEMENT, SYNCHRONIZED):
        text = f"{{ {original} }}"
        for number, mutant in reversed(kept):
            text = f"{{ if (BITGATE_MUTANT({number})) {{ {mutant.mutated} }} else {text} }}"
        return text
    if all(not mutant.mutated for _, mutant in kept):  # a statement that is left out
        return f"{{ if (!BITGATE_MUTANT({kept[0][0]})) {original} }}"
    is_condition = any(mutant.operator in ("bounds", "negation", "logical") for _, mutant in kept)
    text = f"static_cast<bool>({original})" if is_condition else f"({original})"
    for number, mutant in reversed(kept):
        # Another axis is only taken where this one is meant: elsewhere the mutant is not reached.
        acts = mutant.mutated.partition(" ? ")[0] if mutant.operator == "axis" else ""
        switch = f"BITGATE_MUTANT_AT({number}, {acts})" if acts else f"BITGATE_MUTANT({number})"
        chosen = f"{switch} ? ({mutant.mutated}) :"
        if attributed:
            text = f"(\n#line {ATTRIBUTED + number}\n{chosen}\n#line {mutant.line}\n{text})"
        else:
            text = f"({chosen} {text})"
    return text
