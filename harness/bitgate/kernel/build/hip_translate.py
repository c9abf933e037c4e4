"""Translation of HIP to C++: launches by ``<<<>>>`` and ``extern __shared__`` arrays of a preprocessed source.

After the preprocessor nothing is hidden in headers or macros. Lines stay where they are, and so do the markers of their
files, so that the compiler names the right places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLANK = re.compile(
    r'^#[^\n]*|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL | re.MULTILINE,
)
"""Markers, pragmas and texts, in which nothing is a launch."""
_MARKER = re.compile(r"^#[^\n]*$", re.MULTILINE)
_SHARED = r'__attribute__\s*\(\(abi_tag\("bitgate_lds"\)\)\)\s*static\s+thread_local'
"""The expansion of ``__shared__`` in the host's headers."""
_EXTERN_SHARED = re.compile(
    rf"(?:\bextern\s+{_SHARED}|{_SHARED}\s+extern\b)\s+"
    r"(?P<attributes>(?:(?:alignas|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*)*)"
    r"(?P<type>[^;\[\]=]*?[\s&*>])(?P<name>\w+)\s*\[\s*\]\s*;"
)
_OPERATOR = re.compile(r"->|[<>]=|(?<=\s)(?:<<?|>>?)(?=\s)")
_WORD = re.compile(r"[\w:]")
_OPEN, _CLOSED = "([{", ")]}"
NEITHER = ("0", "nullptr")
"""Defaults of a launch: bytes of LDS, and the stream."""


def translated(preprocessed: str) -> str:
    """Replace launches and dynamic arrays that only a HIP compiler takes; every line keeps its number."""
    text = _launches(preprocessed) if "<<<" in preprocessed else preprocessed
    return _EXTERN_SHARED.sub(_array, text)


def _array(match: re.Match[str]) -> str:
    kind, name = match["type"].strip(), match["name"]
    lines = "\n" * match[0].count("\n")
    return f"{kind}* {name} = static_cast<{kind}*>(__bitgate_dynamic_lds());{lines}"


def _launches(text: str) -> str:
    for start, end, call in _found(text):  # from the last one, so that the places of others hold
        text = text[:start] + call + "\n" * (text.count("\n", start, end) - call.count("\n")) + text[end:]
    return text


def _found(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and replacement of each launch, from the last one."""
    code = _BLANK.sub(_blanked, text)
    at = len(code)
    while (at := code.rfind("<<<", 0, at)) >= 0:
        start = _kernel_start(code, at)
        closing = _closing(code, at + 3)
        if start is None or closing is None:
            continue
        opening = closing + 3 + len(code[closing + 3 :]) - len(code[closing + 3 :].lstrip())
        end = _bracket_end(code, opening) if code[opening : opening + 1] == "(" else None
        if end is None:
            continue
        shape = [text[begin:stop] for begin, stop in _split(code, at + 3, closing)]
        if not 2 <= len(shape) <= 4:
            continue
        shape, arguments, kernel = [*shape, *NEITHER[len(shape) - 2 :]], text[opening + 1 : end], text[start:at].strip()
        call = _deduced if _is_deduced(kernel, code) else _call
        yield start, end + 1, call(kernel, shape, arguments)


def _is_deduced(kernel: str, code: str) -> bool:
    """Return whether a template is named without its arguments, which then follow from those of the launch."""
    name = kernel.rpartition("::")[2]
    if not re.fullmatch(r"\w+", name):
        return False
    return re.search(rf"\btemplate\s*<[^;{{}}]*?\bvoid\s+{name}\s*\(", code) is not None


def _call(kernel: str, shape: list[str], arguments: str) -> str:
    grid, block, lds, stream = shape
    name = " ".join(_MARKER.sub("", kernel).replace('"', "'").split())
    given = f", {arguments}" if arguments.strip() else ""
    return (
        f'(void)::bitgate_host::launchNamed("{name}", [&] {{ return ({kernel}); }},'
        f" dim3({grid}), dim3({block}), ({lds}), ({stream}){given})"
    )


def _deduced(kernel: str, shape: list[str], arguments: str) -> str:
    """Format the launch of a template whose arguments are deduced, by a call, since only a call deduces them."""
    grid, block, lds, stream = shape
    values = "[](auto... bitgate_values) { " + kernel + "(bitgate_values...); }"
    pointer = f"static_cast<void (*)(std::decay_t<decltype(bitgate_given)>...)>({values})"
    return (
        f'[&](auto&&... bitgate_given) {{ (void)::bitgate_host::launch("{kernel}", {pointer},'
        f" dim3({grid}), dim3({block}), ({lds}), ({stream}), 0u, bitgate_given...); }}({arguments})"
    )


def _kernel_start(code: str, at: int) -> int | None:
    """Find the start of the kernel's name that ends before ``at``: ``a::b``, ``k<T, 2>``, ``(k<T>)``."""
    place = len(code[:at].rstrip())
    if place and code[place - 1] == ")":
        return _matching_start(code, place - 1, "(", ")")
    if place and code[place - 1] == ">":
        opened = _matching_start(code, place - 1, "<", ">")
        if opened is None:
            return None
        place = len(code[:opened].rstrip())
    start = place
    while start and _WORD.match(code[start - 1]):
        start -= 1
    name = code[start:place]
    return start if re.match(r"(::)?[A-Za-z_]", name) and name != "operator" else None


def _matching_start(code: str, place: int, opening: str, closing: str) -> int | None:
    depth = 0
    for at in range(place, -1, -1):
        depth += (code[at] == closing) - (code[at] == opening)
        if depth == 0:
            return at
        if code[at] in ";{}":
            return None
    return None


def _closing(code: str, begin: int) -> int | None:
    """Find the ``>>>`` that ends a launch's shape."""
    depth = 0
    for at in range(begin, len(code)):
        character = code[at]
        if depth == 0 and code.startswith(">>>", at):
            while code.startswith(">>>", at + 1):  # f<g<int>>>>>: the last three close the launch
                at += 1
            return at
        depth += (character in _OPEN) - (character in _CLOSED)
        if depth < 0 or (depth == 0 and character == ";"):
            return None
    return None


def _bracket_end(code: str, opening: int) -> int | None:
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] in _OPEN) - (code[at] in _CLOSED)
        if depth == 0:
            return at
    return None


def _split(code: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
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
