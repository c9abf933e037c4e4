"""Other harnesses' command lines as problems, and problems as ckProfiler command lines."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bitgate.problem.case_id import check_numbers, parse_case_id
from bitgate.problem.conv import ConvProblem, ProblemError
from bitgate.problem.foreign import benchdnn, ck_example, ck_profiler, miopen_driver
from bitgate.problem.foreign.ck_profiler import ck_profiler_line
from bitgate.problem.foreign.controls import Controls
from bitgate.problem.foreign.found import Found, Refused, Understood, all_understood, in_words, one_line, reasons
from bitgate.problem.foreign.listing import read_list, understood

__all__ = [
    "Controls",
    "Found",
    "Refused",
    "Understood",
    "ck_profiler_line",
    "controls_of",
    "found_in_list",
    "in_words",
    "is_foreign",
    "one_line",
    "parse_foreign",
    "problems_of",
    "reasons",
]

# The program's name (its last path component starts with this) -> the parser of its arguments.
PARSERS: dict[str, Callable[[Sequence[str]], tuple[ConvProblem, ...]]] = {
    "ckProfiler": ck_profiler.parse,
    "example_": ck_example.parse,
    "MIOpenDriver": miopen_driver.parse,
    "benchdnn": benchdnn.parse,
}
CONTROLS: dict[str, Callable[[Sequence[str]], Controls]] = {
    "ckProfiler": ck_profiler.controls,
    "example_": ck_example.controls,
}


def is_foreign(text: str) -> bool:
    """Is this a command line rather than a case id? Ids hold no blanks and do not look like benchdnn's descriptors."""
    return len(text.split()) > 1 or benchdnn.is_bare(text)


def found_in_list(path: Path) -> Iterator[Found]:
    """What a list of case ids and command lines asks for, line by line. OSError if it cannot be read."""
    return read_list(path, _found_in_line)


def _found_in_line(line: str, folder: Path, where: str) -> Iterator[Found]:
    if is_foreign(line):
        name, words = _program(line)
        if name == "benchdnn":
            return benchdnn.found_in(words, folder, where)
    return understood(problems_of(line), where, line)


def problems_of(text: str) -> tuple[ConvProblem, ...]:
    """The problems of a case id or of a foreign command line. Raises ProblemError saying what is understood."""
    return parse_foreign(text) if is_foreign(text) else (parse_case_id(text),)


def parse_foreign(line: str) -> tuple[ConvProblem, ...]:
    """The problems of a ckProfiler, CK example, MIOpenDriver or benchdnn line: several if it names several passes.

    Words before the program's name (``./``, environment variables) are ignored.
    """
    check_numbers(line)
    bare = benchdnn.is_bare(line)
    name, words = ("", []) if bare else _program(line)
    try:
        if bare:
            return all_understood(benchdnn.Reader(Path()).words(benchdnn.words_of(line), ""))
        return PARSERS[name](words)
    except ProblemError as error:
        raise ProblemError(f"{one_line(line)}: {error}") from None


def controls_of(line: str) -> Controls | None:
    """How a ckProfiler or CK example line wants its problem to be run; None for other programs. ProblemError as
    ``parse_foreign``."""
    if benchdnn.is_bare(line):
        return None
    name, words = _program(line)
    try:
        return CONTROLS[name](words) if name in CONTROLS else None
    except ProblemError as error:
        raise ProblemError(f"{one_line(line)}: {error}") from None


def _program(line: str) -> tuple[str, list[str]]:
    """The entry of PARSERS that a line is for, and its words from the program on."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ProblemError(f"command line '{one_line(line)}': {error}") from None
    for position, word in enumerate(words):
        program = word.rsplit("/", 1)[-1]
        for name in PARSERS:
            if program.startswith(name):
                return name, [program, *words[position + 1 :]]
    known = ", ".join(name.rstrip("_") for name in PARSERS)
    raise ProblemError(f"'{one_line(line)}' is neither a case id nor a command line of {known}")
