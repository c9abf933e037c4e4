"""Other harnesses' command lines as problems: each operation reads its own."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from bitgate.operation.foreign import benchdnn
from bitgate.operation.foreign.controls import Controls
from bitgate.operation.foreign.found import Found, Refused, Understood, all_understood, in_words, one_line, reasons
from bitgate.operation.foreign.listing import read_list, understood
from bitgate.operation.foreign.program import Program
from bitgate.operation.problem import Problem, ProblemError
from bitgate.operation.registry import check_numbers, operations, parse_case_id

__all__ = [
    "Controls",
    "Found",
    "Refused",
    "Understood",
    "controls_of",
    "found_in_list",
    "in_words",
    "is_foreign",
    "one_line",
    "parse_foreign",
    "problems_of",
    "reasons",
]


@lru_cache(maxsize=1)
def programs() -> Mapping[str, Program]:
    """The programs whose lines are understood, by what the last component of their path begins with."""
    known = {name: program for operation in operations().values() for name, program in operation.programs.items()}
    return known | {"benchdnn": Program(benchdnn.parse)}


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


def problems_of(text: str) -> tuple[Problem, ...]:
    """The problems of a case id or of a foreign command line. Raises ProblemError saying what is understood."""
    return parse_foreign(text) if is_foreign(text) else (parse_case_id(text),)


def parse_foreign(line: str) -> tuple[Problem, ...]:
    """The problems of a ckProfiler, CK example, MIOpenDriver or benchdnn line: several if it names several passes.

    Words before the program's name (``./``, environment variables) are ignored.
    """
    check_numbers(line)
    bare = benchdnn.is_bare(line)
    name, words = ("", []) if bare else _program(line)
    try:
        if bare:
            return all_understood(benchdnn.Reader(Path()).words(benchdnn.words_of(line), ""))
        return programs()[name].parse(words)
    except ProblemError as error:
        raise ProblemError(f"{one_line(line)}: {error}") from None


def controls_of(line: str) -> Controls | None:
    """How a ckProfiler or CK example line wants its problem to be run; None for other programs. ProblemError as
    ``parse_foreign``."""
    if benchdnn.is_bare(line):
        return None
    name, words = _program(line)
    try:
        controls = programs()[name].controls
        return None if controls is None else controls(words)
    except ProblemError as error:
        raise ProblemError(f"{one_line(line)}: {error}") from None


def _program(line: str) -> tuple[str, list[str]]:
    """The entry of ``programs`` that a line is for, and its words from the program on."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ProblemError(f"command line '{one_line(line)}': {error}") from None
    for position, word in enumerate(words):
        program = word.rsplit("/", 1)[-1]
        for name in programs():
            if program.startswith(name):
                return name, [program, *words[position + 1 :]]
    known = ", ".join(name.rstrip("_") for name in programs())
    raise ProblemError(f"'{one_line(line)}' is neither a case id nor a command line of {known}")
