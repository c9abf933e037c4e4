"""The error of a failed build."""

from __future__ import annotations

import re

from bitgate.core.errors import UsageError


class BuildError(UsageError):
    """A source that does not compile or a library that does not link: verdict BUILD_FAILED.

    The message is one line with the compiler's first error; ``output`` is the compiler's whole output.
    """

    def __init__(self, what: str, output: str) -> None:
        super().__init__(f"{what} does not build: {first_error(output)}")
        self.output = output


def first_error(output: str) -> str:
    """Return the line to read first in a compiler's or linker's output.

    An error within a header of bitgate's is put to the line of the source that called for it.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in (r"\b(fatal )?error\b", r"undefined (reference|symbol)|multiple definition|cannot find"):
        for number, line in enumerate(lines):
            if re.search(pattern, line) and not line.startswith("collect2"):
                return _at_its_caller(lines, number) + _advice(line)
    return lines[-1] if lines else "the compiler said nothing"


def _advice(line: str) -> str:
    """Return what to write where the linker misses what each library defines once."""
    if re.search(r"undefined (reference|symbol).*bitgate::family\b", line):
        return ': one source defines it: namespace bitgate { const Family family{"NAME", nullptr, 0}; }'
    return ""


_HEADER = re.compile(r"\S*/(?:bitgate|hip|host_detail)/\w+\.hp?p?(?::\d+:\d+:|\(\d+\):) *(?P<said>.*)")
_CALLERS = (
    re.compile(r"(?P<file>\S+?):(?P<line>\d+)(?::\d+)?: +required from here"),  # g++, before the error
    re.compile(r"(?P<file>\S+?):(?P<line>\d+):\d+: note: in instantiation of .*"),  # clang, after it, the last
    re.compile(r".*at line (?P<line>\d+) of (?P<file>\S+)"),  # nvcc, after it, the last
)


def _at_its_caller(lines: list[str], number: int) -> str:
    header = _HEADER.match(lines[number])
    if header is None:
        return lines[number]
    after = lines[number + 1 :]
    end = next((at for at, line in enumerate(after) if re.search(r"\berror\b", line)), len(after))
    for line in (*reversed(lines[:number]), *reversed(after[:end])):
        for pattern in _CALLERS:
            caller = pattern.match(line)
            if caller is not None and _HEADER.match(f"{caller['file']}:1:1: ") is None:
                return f"{caller['file']}:{caller['line']}: {header['said']}"
    return lines[number]
