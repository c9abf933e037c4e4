"""Other harnesses' command lines as problems, and problems as ckProfiler command lines."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from bitgate.problem.case_id import parse_case_id
from bitgate.problem.conv import ConvProblem, ProblemError
from bitgate.problem.foreign import benchdnn, ck_example, ck_profiler, miopen_driver
from bitgate.problem.foreign.ck_profiler import ck_profiler_line

__all__ = ["ck_profiler_line", "is_foreign", "parse_foreign", "problems_of"]

# The program's name (its last path component starts with this) -> the parser of its arguments.
PARSERS: dict[str, Callable[[Sequence[str]], tuple[ConvProblem, ...]]] = {
    "ckProfiler": ck_profiler.parse,
    "example_": ck_example.parse,
    "MIOpenDriver": miopen_driver.parse,
    "benchdnn": benchdnn.parse,
}


def is_foreign(text: str) -> bool:
    """Is this a command line rather than a case id? Ids hold no blanks."""
    return len(text.split()) > 1


def problems_of(text: str) -> tuple[ConvProblem, ...]:
    """The problems of a case id or of a foreign command line. Raises ProblemError saying what is understood."""
    return parse_foreign(text) if is_foreign(text) else (parse_case_id(text),)


def parse_foreign(line: str) -> tuple[ConvProblem, ...]:
    """The problems of a ckProfiler, CK example, MIOpenDriver or benchdnn line: several if it names several passes.

    Words before the program's name (``./``, environment variables) are ignored.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ProblemError(f"command line '{line}': {error}") from None
    for position, word in enumerate(words):
        program = word.rsplit("/", 1)[-1]
        for name, parse in PARSERS.items():
            if program.startswith(name):
                try:
                    return parse([program, *words[position + 1 :]])
                except ProblemError as error:
                    raise ProblemError(f"{line.strip()}: {error}") from None
    raise ProblemError(
        f"'{line.strip()}' is neither a case id nor a command line of {', '.join(name.rstrip('_') for name in PARSERS)}"
    )
