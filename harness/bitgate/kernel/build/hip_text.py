"""Brackets and texts of a preprocessed C++ source, by which launches and declarations are read."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLANK = re.compile(
    r'^#[^\n]*|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL | re.MULTILINE,
)
"""Markers, pragmas and texts, in which nothing is a launch."""
_OPERATOR = re.compile(r"->|[<>]=|(?<=\s)(?:<<?|>>?)(?=\s)")
OPEN, CLOSED = "([{", ")]}"


def code_of(text: str) -> str:
    """Return the text with strings, characters and markers replaced by as many spaces."""
    return _BLANK.sub(_blanked, text)


def matching_start(code: str, place: int, opening: str, closing: str) -> int | None:
    depth = 0
    for at in range(place, -1, -1):
        depth += (code[at] == closing) - (code[at] == opening)
        if depth == 0:
            return at
        if code[at] in ";{}":
            return None
    return None


def bracket_end(code: str, opening: int) -> int | None:
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] in OPEN) - (code[at] in CLOSED)
        if depth == 0:
            return at
    return None


def split(code: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the places between commas outside of brackets; ``<`` is a bracket, unless it is an operator."""
    depth, start = 0, begin
    words = _OPERATOR.sub(_blanked, code[begin:end])
    for at in range(begin, end):
        character = words[at - begin]
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            yield start, at
            start = at + 1
    yield start, end


def _blanked(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())
