"""The mutant schema of a source: all of its mutants in one text, each selected by a switch when it is reached.

    a < b    becomes    (BITGATE_MUTANT(17) ? (a <= b) : (a < b))

Lines stay where they are, so that the compiler's messages on the schema point to the source. Where the compiler
evaluates an expression itself, the schema equals the source. The switch is turned by a guest in the process of the
kernels, which also reads the mutants that were reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ctypes import CDLL, c_int, c_ubyte, memset, sizeof
from itertools import groupby
from typing import Any

from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.verify.session import Session

OFF, WATCHING = 0, -1
"""Values of the switch where no mutant is on; WATCHING also notes which places are reached."""

SWITCH, REACHED = "bitgate_mutant", "bitgate_mutants_reached"
"""Exports of a library of mutants: an int, and a byte for each mutant from 1 on."""

SEEDED, SEEDED_STATEMENT = "seeded", "seeded statement"
"""The operators of seeded defects: one value, or one statement, in place of another."""

MOST = 1 << 15
"""Most mutants of a library."""

PREFACE = f"""\
#ifndef BITGATE_MUTANT
#define BITGATE_MUTANT(number) (bitgate_mutants::is_on(number))
#define BITGATE_MUTANT_AT(number, acts) ((acts) && BITGATE_MUTANT(number))
extern "C" {{
__attribute__((visibility("default"))) inline int {SWITCH} = {OFF};
__attribute__((visibility("default"))) inline unsigned char {REACHED}[{MOST}] = {{}};
}}
namespace bitgate_mutants {{
inline constexpr bool is_on(int number) {{
  if (__builtin_is_constant_evaluated())
    return false;
  const int now = {SWITCH};
  if (now == {WATCHING})
    __atomic_store_n(&{REACHED}[number], 1, __ATOMIC_RELAXED);
  return now == number;
}}
}} // namespace bitgate_mutants
#endif
"""


def schema_of(text: str, file: str, mutants: Mapping[int, Mutant]) -> str:
    """Return the source with its ``mutants``, by number, each selected by the switch."""
    return f'{PREFACE}#line 1 "{file}"\n{behind_switch(text, mutants)}'


def behind_switch(text: str, mutants: Mapping[int, Mutant]) -> str:
    source = text.encode()
    numbered = sorted(mutants.items(), key=lambda item: (item[1].start, -item[1].end, item[0]))
    spans = [
        (start, end, list(group))
        for (start, end), group in groupby(numbered, lambda item: (item[1].start, item[1].end))
    ]
    return _Render(source, spans).between(0, len(source))


Span = tuple[int, int, Sequence[tuple[int, Mutant]]]


class _Render:
    """A rendering of nested spans, outer ones first: as nodes of a tree they do not overlap in part."""

    def __init__(self, source: bytes, spans: Sequence[Span]) -> None:
        self._source, self._spans, self._next = source, spans, 0

    def between(self, start: int, end: int) -> str:
        parts, at = [], start
        while self._next < len(self._spans) and self._spans[self._next][1] <= end:
            begin, last, mutants = self._spans[self._next]
            self._next += 1
            parts += [self._slice(at, begin), _choice(mutants, self.between(begin, last))]
            at = last
        return "".join([*parts, self._slice(at, end)])

    def _slice(self, start: int, end: int) -> str:
        return self._source[start:end].decode(errors="replace")


def _choice(mutants: Iterable[tuple[int, Mutant]], original: str) -> str:
    kept = list(mutants)
    if kept[0][1].operator == SEEDED_STATEMENT:
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
        text = f"({switch} ? ({mutant.mutated}) : {text})"
    return text


GUEST = f"{__name__}:MutantSwitch"


class MutantSwitch:
    """The switch of an instance's library, which is loaded already and stays loaded.

    A library whose code has no mutant has no switch to turn.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._switches: dict[str, tuple[c_int, Any] | None] = {}

    def turn(self, family: str, instance: str, to: int) -> None:
        found = self._of(family, instance)
        if found is None:
            return
        switch, reached = found
        if to == WATCHING:
            memset(reached, 0, sizeof(reached))
        switch.value = to

    def reached(self, family: str, instance: str) -> list[int]:
        """Return the mutants whose places were executed since the switch was turned to WATCHING."""
        found = self._of(family, instance)
        return [] if found is None else [number for number, seen in enumerate(bytes(found[1])) if seen]

    def _of(self, family: str, instance: str) -> tuple[c_int, Any] | None:
        path = str(self._session.opened.library(family, instance).path.resolve())
        if path not in self._switches:
            self._switches[path] = switch_of(CDLL(path))
        return self._switches[path]


def switch_of(handle: CDLL) -> tuple[c_int, Any] | None:
    try:
        return c_int.in_dll(handle, SWITCH), (c_ubyte * MOST).in_dll(handle, REACHED)
    except ValueError:  # no such symbol
        return None
