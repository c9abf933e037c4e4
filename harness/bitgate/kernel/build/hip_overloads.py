"""Functions that a HIP source has twice, for the host and for a GPU: on the host both are C++, and one calls the other.

The function for a GPU gets another name, and that of the host calls it where a kernel runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bitgate.kernel.build.hip_text import bracket_end, code_of, split

DEVICE, HOST = "__bitgate_device__", "__bitgate_host__"
"""The words that the host's headers make of ``__device__`` and ``__host__`` in whole programs."""
_FUNCTION = re.compile(
    rf"(?P<specifiers>(?:(?:{DEVICE}|{HOST}|static|inline|constexpr)\s+)*)"
    r"(?P<returns>(?!return\b|else\b|new\b|case\b)\b[A-Za-z_][\w:]*(?:\s+[A-Za-z_]\w*)*?[\s*&]+)(?P<name>[A-Za-z_]\w*)\s*\("
)


@dataclass(frozen=True)
class _Function:
    start: int
    name_at: int
    name: str
    declared: str
    """The begin of its declaration: storage and type."""
    parameters: str
    types: tuple[str, ...]
    names: tuple[str, ...]
    body: int
    """The place behind its opening brace; 0 for a declaration."""
    sides: frozenset[str]


def without_sides(text: str) -> str:
    """Return the source without the marks of sides; of a function on each side both remain, under two names."""
    if DEVICE not in text and HOST not in text:
        return text
    code = code_of(text)
    edits: list[tuple[int, int, str]] = []
    functions = _functions(code)
    on_host = {(f.name, f.types): f for f in functions if f.body and DEVICE not in f.sides}
    on_device = {(f.name, f.types): f for f in functions if f.body and f.sides == {DEVICE}}
    for key in on_device.keys() & on_host.keys():
        host, other = on_host[key], f"{key[0]}_bitgate_device"
        call = f"return {other}({', '.join(host.names)});"
        edits.append((host.body, host.body, f" if (::bitgate_host::self) {call}"))
        edits.append((host.start, host.start, f"{on_device[key].declared} {other}({host.parameters}); "))
        edits += [
            (f.name_at, f.name_at + len(f.name), other)
            for f in functions
            if (f.name, f.types) == key and f.sides == {DEVICE}
        ]
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text.replace(DEVICE, "").replace(HOST, "")


def _functions(code: str) -> list[_Function]:
    """Return functions that are no templates, of names that are declared with ``__device__`` alone somewhere."""
    marked = (_read(code, _statement(code, match.start())) for match in re.finditer(DEVICE, code))
    names = "|".join({one.name for one in marked if one is not None and one.sides == {DEVICE}})
    if not names:
        return []
    found = []
    for match in re.finditer(rf"\b(?:{names})\s*\(", code):
        one = _read(code, _statement(code, match.start()))
        if one is not None and one.name_at == match.start():
            found.append(one)
    return found


def _statement(code: str, at: int) -> int:
    return max(code.rfind(mark, 0, at) for mark in ";{}>") + 1


def _read(code: str, begin: int) -> _Function | None:
    begin += len(code[begin:]) - len(code[begin:].lstrip())
    match = _FUNCTION.match(code, begin)
    if match is None or code[:begin].rstrip().endswith(">"):
        return None  # of a template, or no function
    end = bracket_end(code, match.end() - 1)
    follows = re.compile(r"\s*([;{])").match(code, end + 1) if end is not None else None
    if end is None or follows is None:
        return None
    places = split(code, match.end(), end)
    parts = [" ".join(code[a:b].split()) for a, b in places]
    parts = [part for part in parts if part and part != "void"]
    named = [re.fullmatch(r"(.*[\s*&])(\w+)", part) for part in parts]
    if not all(named):
        return None
    return _Function(
        match.start(),
        match.start("name"),
        match["name"],
        " ".join(re.sub(f"{DEVICE}|{HOST}", "", match["specifiers"] + match["returns"]).split()),
        ", ".join(parts),
        tuple("".join(one[1].split()) for one in named if one),
        tuple(one[2] for one in named if one),
        follows.end() if follows[1] == "{" else 0,
        frozenset(side for side in (DEVICE, HOST) if side in match["specifiers"]),
    )
