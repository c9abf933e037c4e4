"""Translation of HIP to C++: launches by ``<<<>>>`` and ``extern __shared__`` arrays of a preprocessed source.

After the preprocessor nothing is hidden in headers or macros. Lines stay where they are, and so do the markers of their
files, so that the compiler names the right places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bitgate.kernel.build.hip_declarations import Functions
from bitgate.kernel.build.hip_overloads import without_sides
from bitgate.kernel.build.hip_text import CLOSED, OPEN, bracket_end, code_of, matching_start, split

_MARKER = re.compile(r"^#[^\n]*$", re.MULTILINE)
_SHARED = r'__attribute__\s*\(\(abi_tag\("bitgate_lds"\)\)\)\s*static\s+thread_local'
"""The expansion of ``__shared__`` in the host's headers."""
_EXTERN_SHARED = re.compile(
    rf"(?:\bextern\s+{_SHARED}|{_SHARED}\s+extern\b)\s+"
    r"(?P<attributes>(?:(?:alignas|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*)*)"
    r"(?P<type>[^;\[\]=]*?[\s&*>])(?P<name>\w+)\s*\[\s*\]\s*;"
)
_TWICE_STATIC = re.compile(rf"\bstatic(?P<before>\s+)(?={_SHARED})|(?P<shared>{_SHARED})(?P<after>\s+)static\b")
"""``static`` next to ``__shared__``, which is static already."""
_UNTYPED = re.compile(
    r"(?P<call>\bhip(?:Launch(?:Cooperative)?Kernel|ExtLaunchKernel))\s*\(\s*(?:\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*\)"
    r"|(?:reinterpret|static)_cast\s*<\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*>(?=\s*\())"
)
"""Casts that hide the kernel's type, by which alone its arguments' sizes are known."""
_WORD = re.compile(r"[\w:]")
_LITERAL = r"\s*\{?(?:\s*[-+]?\s*(?:[\d.][\w.']*|__null|nullptr|true|false)\s*,?)+\}?\s*"
"""Numbers and null pointers, in braces or not."""
NEITHER = ("0", "nullptr")
"""Defaults of a launch: bytes of LDS, and the stream."""


def translated(preprocessed: str) -> str:
    """Replace launches and dynamic arrays that only a HIP compiler takes; every line keeps its number."""
    text = without_sides(preprocessed)
    text = _launches(text) if "<<<" in text else text
    text = _TWICE_STATIC.sub(lambda match: (match["shared"] or "") + (match["before"] or match["after"]), text)
    return _UNTYPED.sub(r"\g<call>(", _EXTERN_SHARED.sub(_array, text))


def _array(match: re.Match[str]) -> str:
    kind, name = match["type"].strip(), match["name"]
    lines = "\n" * match[0].count("\n")
    return f"{kind}* {name} = static_cast<{kind}*>(__bitgate_dynamic_lds());{lines}"


def _launches(text: str) -> str:
    code = code_of(text)
    functions = Functions(code)
    for start, end, call in _found(text, code, functions):  # from the last one, so that the places of others hold
        text = text[:start] + call + "\n" * (text.count("\n", start, end) - call.count("\n")) + text[end:]
    return text


def _found(text: str, code: str, functions: Functions) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and replacement of each launch, from the last one."""
    at = len(code)
    while (at := code.rfind("<<<", 0, at)) >= 0:
        start = _kernel_start(code, at)
        closing = _closing(code, at + 3)
        if start is None or closing is None:
            continue
        opening = closing + 3 + len(code[closing + 3 :]) - len(code[closing + 3 :].lstrip())
        end = bracket_end(code, opening) if code[opening : opening + 1] == "(" else None
        if end is None:
            continue
        shape = [text[begin:stop] for begin, stop in split(code, at + 3, closing)]
        if not 2 <= len(shape) <= 4:
            continue
        shape, kernel = [*shape, *NEITHER[len(shape) - 2 :]], text[start:at].strip()
        places = list(split(code, opening + 1, end)) if code[opening + 1 : end].strip() else []
        arguments = [text[begin:stop] for begin, stop in places]
        call = _call if functions.is_one(code[start:at]) else _deduced
        yield start, end + 1, call(kernel, shape, arguments)


def _shape(kernel: str, shape: list[str]) -> tuple[str, str]:
    """Return the name that faults give the kernel, and the launch's other arguments."""
    grid, block, lds, stream = shape
    name = " ".join(_MARKER.sub("", kernel).replace('"', "'").split())
    return f'"{name}"', f"dim3({grid}), dim3({block}), ({lds}), ({stream})"


def _call(kernel: str, shape: list[str], arguments: list[str]) -> str:
    """Format the launch of one function: its parameters' types are known, so that braces and 0 convert to them."""
    name, rest = _shape(kernel, shape)
    return f"::bitgate_host::configured({name}, [&] {{ return ({kernel}); }}, {rest})({','.join(arguments)})"


def _deduced(kernel: str, shape: list[str], arguments: list[str]) -> str:
    """Format the launch of a template or of overloads by a call, since only a call chooses the function.

    Literals and braces stay in the call, where they convert to what the function takes.
    """
    name, rest = _shape(kernel, shape)
    literal = [re.fullmatch(_LITERAL, _MARKER.sub("", argument)) is not None for argument in arguments]
    if not any(literal):
        body = f"[](auto... bitgate_values) {{ {kernel}(bitgate_values...); }}"
        return f"::bitgate_host::deduced({name}, {body}, {rest})({','.join(arguments)})"
    names = [None if fixed else f"bitgate_{number}" for number, fixed in enumerate(literal)]
    passed = ",".join(word or argument for word, argument in zip(names, arguments, strict=True))
    given = ",".join(argument for word, argument in zip(names, arguments, strict=True) if word)
    body = f"[]({', '.join(f'auto {word}' for word in names if word)}) {{ {kernel}({passed}); }}"
    return f"::bitgate_host::deduced({name}, {body}, {rest})({given})"


def _kernel_start(code: str, at: int) -> int | None:
    """Find the start of the kernel's name that ends before ``at``: ``a::b``, ``k<T, 2>``, ``(k<T>)``."""
    place = len(code[:at].rstrip())
    if place and code[place - 1] == ")":
        return matching_start(code, place - 1, "(", ")")
    if place and code[place - 1] == ">":
        opened = matching_start(code, place - 1, "<", ">")
        if opened is None:
            return None
        place = len(code[:opened].rstrip())
    start = place
    while start and _WORD.match(code[start - 1]):
        start -= 1
    name = code[start:place]
    return start if re.match(r"(::)?[A-Za-z_]", name) and name != "operator" else None


def _closing(code: str, begin: int) -> int | None:
    """Find the ``>>>`` that ends a launch's shape."""
    depth = 0
    for at in range(begin, len(code)):
        character = code[at]
        if depth == 0 and code.startswith(">>>", at):
            while code.startswith(">>>", at + 1):  # f<g<int>>>>>: the last three close the launch
                at += 1
            return at
        depth += (character in OPEN) - (character in CLOSED)
        if depth < 0 or (depth == 0 and character == ";"):
            return None
    return None
