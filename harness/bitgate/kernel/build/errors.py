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
    """Return the line to read first in a compiler's or linker's output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in (r"\b(fatal )?error\b", r"undefined (reference|symbol)|multiple definition|cannot find"):
        for line in lines:
            if re.search(pattern, line) and not line.startswith("collect2"):
                return line
    return lines[-1] if lines else "the compiler said nothing"
