"""Functions that a preprocessed C++ source declares, by name: whether a kernel's name stands for one function."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bitgate.kernel.build.hip_text import bracket_end, matching_start, split

_ATTRIBUTE = r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)"
_SPECIFIERS = re.compile(rf"(?:(?:static|inline|extern|constexpr|{_ATTRIBUTE})\s*)+$")


@dataclass(frozen=True)
class _Declaration:
    """A function's declaration: how many template parameters it has, and the types of its parameters."""

    template: int | None
    types: tuple[str, ...]
    has_defaults: bool


class Functions:
    """The functions of a source that return nothing; ``code`` is its text without strings."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._known: dict[str, set[_Declaration]] = {}

    def is_one(self, kernel: str) -> bool:
        """Return whether a kernel's name, with its template arguments, stands for one function without defaults.

        A name that is not declared is a variable.
        """
        kernel = kernel.strip()
        while kernel.startswith("(") and kernel.endswith(")"):
            kernel = kernel[1:-1].strip()
        opened = matching_start(kernel, len(kernel) - 1, "<", ">") if kernel.endswith(">") else None
        name = kernel[:opened].rstrip().rpartition("::")[2].strip()
        declared = self._declared(name) if re.fullmatch(r"\w+", name) else set()
        if not declared:
            return True
        if len(declared) > 1:
            return False
        (only,) = declared
        given = len(list(split(kernel, opened + 1, len(kernel) - 1))) if opened is not None else 0
        return not only.has_defaults and (only.template is None or 0 <= only.template <= given)

    def _declared(self, name: str) -> set[_Declaration]:
        if name not in self._known:
            pattern = re.compile(rf"\bvoid\s+(?:{_ATTRIBUTE}\s*)*{name}\s*\(")
            found = (self._read(match.start(), match.end() - 1) for match in pattern.finditer(self._code))
            self._known[name] = {one for one in found if one is not None}
        return self._known[name]

    def _read(self, start: int, opening: int) -> _Declaration | None:
        end = bracket_end(self._code, opening)
        if end is None or not re.match(r"\s*(?:[;{]|__attribute__)", self._code[end + 1 : end + 80]):
            return None
        parts = [self._code[begin:stop] for begin, stop in split(self._code, opening + 1, end)]
        types = tuple(_type(part) for part in parts)
        return _Declaration(self._template(start), types, any("=" in part for part in parts))

    def _template(self, start: int) -> int | None:
        """Count the template's parameters; None where it is none, -1 where one is a pack."""
        before = self._code[max(0, start - 2000) : start].rstrip()
        while (specifiers := _SPECIFIERS.search(before)) is not None:
            before = before[: specifiers.start()].rstrip()
        if not before.endswith(">"):
            return None
        opened = matching_start(before, len(before) - 1, "<", ">")
        if opened is None or not before[:opened].rstrip().endswith("template"):
            return None
        listed = before[opened + 1 : -1]
        return -1 if "..." in listed else len(list(split(before, opened + 1, len(before) - 1)))


def _type(parameter: str) -> str:
    """Return a parameter's type: without its name, where it has one, and its default."""
    words = " ".join(parameter.partition("=")[0].split())
    named = re.fullmatch(r"(.*[\w*&>\]].*?)\b(?!(?:int|float|double|char|long|short|unsigned|bool|const)\b)\w+", words)
    return re.sub(r"\s+", "", named[1] if named else words)
