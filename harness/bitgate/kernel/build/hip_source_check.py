"""A check of HIP sources for constructs that a plain C++ compiler cannot take, with the line to write instead.

``g++`` reports such a line with an error about something else. A header cannot catch it, so the source is read before
it is compiled for the host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_BLANK = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"' r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
_EXTERN_SHARED = re.compile(
    r"\bextern\s+__shared__\s+(?P<attributes>(?:(?:__align__|alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)\s*)*)"
    r"(?P<type>[^;\[\]]*?[\s&*>])\s*(?P<name>\w+)\s*\[\s*\]\s*;"
)
_SHARED_EXTERN = re.compile(r"\b__shared__\s+extern\b")
_TRIPLE = re.compile(
    r"(?P<kernel>[\w:]+\s*(?:<[^;{}]*?>)?)\s*<<<(?P<shape>[^;{}]*?)>>>\s*\((?P<arguments>[^;{}]*)\)\s*;"
)
_TRIPLE_LEFT = re.compile(r"<<<")


@dataclass(frozen=True)
class _Rule:
    pattern: re.Pattern[str]
    advice: Callable[[re.Match[str]], str]


def unsupported_on_host(source_text: str) -> list[tuple[int, str]]:
    """Return ``(line, message)`` for each construct that does not compile on the host, in the order of the source.

    Lines count from 1. Comments and strings are ignored. The message says what to write instead.
    """
    code = _BLANK.sub(_blanked, source_text)
    found: dict[int, str] = {}
    for rule in _RULES:
        for match in rule.pattern.finditer(code):
            found.setdefault(match.start(), rule.advice(match))
    places = sorted(found)
    kept = [place for place in places if not _covered(place, code, places)]
    return [(code.count("\n", 0, place) + 1, found[place]) for place in kept]


def _blanked(match: re.Match[str]) -> str:
    """Replace a match by the same number of characters and lines without content."""
    return re.sub(r"[^\n]", " ", match.group())


def _covered(place: int, code: str, places: list[int]) -> bool:
    """Return whether a bare ``<<<`` belongs to a launch that is reported already."""
    if not code.startswith("<<<", place):
        return False
    return any(
        launch < place < match.end()
        for launch in places
        if launch < place and (match := _TRIPLE.match(code, launch)) is not None
    )


def _dynamic(match: re.Match[str]) -> str:
    kind = " ".join(match["type"].split())
    return f"{_NO_ARRAY}: write HIP_DYNAMIC_SHARED({kind}, {match['name']}) instead"


def _launch(match: re.Match[str]) -> str:
    kernel = "".join(match["kernel"].split())
    shape = [part.strip() for part in _split(match["shape"])]
    shape += ["0", "nullptr"][len(shape) - 2 :] if len(shape) < 4 else []
    arguments = [part.strip() for part in _split(match["arguments"]) if part.strip()]
    if "," in kernel:
        kernel = f"HIP_KERNEL_NAME({kernel})"
    words = ", ".join([kernel, *shape, *arguments])
    return f"{_NO_CHEVRONS}: write hipLaunchKernelGGL({words}); instead"


def _split(text: str) -> Iterator[str]:
    """Yield the parts between commas outside of brackets."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


_NO_ARRAY = "extern __shared__ arrays do not compile on the host"
_NO_CHEVRONS = "<<<...>>> launches do not compile on the host"

_RULES = (
    _Rule(_EXTERN_SHARED, _dynamic),
    _Rule(_SHARED_EXTERN, lambda match: f"{_NO_ARRAY}: write HIP_DYNAMIC_SHARED(type, name) instead"),
    _Rule(_TRIPLE, _launch),
    _Rule(
        _TRIPLE_LEFT,
        lambda match: f"{_NO_CHEVRONS}: write hipLaunchKernelGGL(kernel, grid, block, ldsBytes, stream, ...); instead",
    ),
)
