"""Other harnesses' command lines as problems: each operation reads its own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from bitgate.interop import benchdnn
from bitgate.interop.benchdnn_words import without_comment, words_of
from bitgate.interop.controls import Controls
from bitgate.interop.dialect import dialects
from bitgate.interop.found import NO_LINE, Found, Refused, Understood, all_understood, in_words, one_line, reasons
from bitgate.interop.joined import joined
from bitgate.interop.listing import read_list, understood
from bitgate.interop.perf_request import PerfRequest
from bitgate.interop.program import Program, Variant
from bitgate.interop.shell import of_one_command
from bitgate.interop.tables import found_in_table, reader_of
from bitgate.model.problem import Problem, ProblemError
from bitgate.model.registry import check_numbers, parse_case_id

__all__ = [
    "Controls",
    "Found",
    "PerfRequest",
    "Refused",
    "Understood",
    "Variant",
    "command_of",
    "controls_of",
    "found_in_case",
    "found_in_list",
    "in_words",
    "is_foreign",
    "one_line",
    "parse_foreign",
    "perf_of",
    "problems_of",
    "program_of",
    "reasons",
    "variant_of",
]

Answer = TypeVar("Answer")

BENCHDNN = "benchdnn"
_WORD = re.compile(r"\S+")
MOST_QUOTED = 200
"""Characters of a line that is none: it may be a file that is no text."""
QUOTES = "\"'`"
_PATH = re.compile(r"[/\\]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_JOINED = re.compile(r"\\[^\S\n]*(?:\n|$)")
"""A backslash that joins lines. Elsewhere it parts a path: none of these lines escapes anything."""


@lru_cache(maxsize=1)
def programs() -> Mapping[str, Program]:
    """Return the programs whose lines are understood, by what the last component of their path begins with."""
    read: dict[str, list[Program]] = {}
    for dialect in dialects():
        for name, program in dialect.programs.items():
            read.setdefault(name, []).append(program)
    known = {name: joined(name, several) if several[0].commands else several[0] for name, several in read.items()}
    return known | {BENCHDNN: Program(benchdnn.parse)}


def is_foreign(text: str) -> bool:
    """Return whether this is a command line rather than a case id.

    Ids hold no blanks, are no program's name and do not look like benchdnn's descriptors.
    """
    words = text.split()
    return len(words) > 1 or benchdnn.is_bare(text) or any(_called(word)[0] for word in words)


def found_in_list(path: Path) -> Iterator[Found]:
    """Yield what a list of case ids and command lines, or a table of a dialect, asks for, line by line.

    OSError if it cannot be read; UsageError for a table without the columns that it needs.
    """
    reader = reader_of(path)
    return read_list(path, _found_in_line) if reader is None else found_in_table(path, reader)


def found_in_case(text: str) -> tuple[Understood, ...]:
    """Return the problems of a case id or a foreign line, each with its line. ProblemError if one is refused."""
    text = text.strip()
    if not is_foreign(text):
        return (Understood("", parse_case_id(text)),)
    bare = benchdnn.is_bare(text)
    if not bare and _program(text)[0] != BENCHDNN:
        return tuple(Understood("", problem, text) for problem in parse_foreign(text))
    check_numbers(text)
    words = words_of(text) if bare else _program(text)[1]
    try:
        found = tuple(benchdnn.Reader(Path()).words(words, "") if bare else benchdnn.found_in(words, Path(), ""))
        all_understood(found)
    except ProblemError as error:
        raise ProblemError(f"{one_line(text)}: {one_line(str(error))}") from None
    return tuple(entry for entry in found if isinstance(entry, Understood))


def _found_in_line(line: str, folder: Path, where: str) -> Iterator[Found]:
    if is_foreign(line):
        name, words = _program(line)
        if name == BENCHDNN:
            return benchdnn.found_in(words, folder, where)
    return understood(problems_of(line), where, line)


def problems_of(text: str) -> tuple[Problem, ...]:
    """Return the problems of a case id or of a foreign command line. ProblemError saying what is understood."""
    return parse_foreign(text) if is_foreign(text) else (parse_case_id(text.strip()),)


def parse_foreign(line: str) -> tuple[Problem, ...]:
    """Return the problems of a ckProfiler, CK example, MIOpenDriver or benchdnn line: several if it names several
    passes.

    Words before the program's name (``./``, environment variables) are ignored.
    """
    check_numbers(line)
    bare = benchdnn.is_bare(line)
    name, words = ("", []) if bare else _program(line)
    try:
        if bare:
            return all_understood(benchdnn.Reader(Path()).words(words_of(line), ""))
        return programs()[name].parse(words)
    except ProblemError as error:
        raise ProblemError(f"{one_line(line)}: {one_line(str(error))}") from None


def controls_of(line: str) -> Controls | None:
    """Return how a ckProfiler or CK example line wants its problem to be run; None for other programs.

    ProblemError as ``parse_foreign``.
    """
    return _asked(line, lambda program: program.controls)


def variant_of(line: str) -> Variant | None:
    """Return the instances that a CK example's name asks for, else None. ProblemError as ``parse_foreign``."""
    return _asked(line, lambda program: program.variant)


def perf_of(entry: Understood) -> PerfRequest:
    """Return how an entry wants to be timed. ProblemError as ``parse_foreign``."""
    if entry.perf is not None:
        return entry.perf
    said = _asked(entry.line, lambda program: program.perf) if is_foreign(entry.line) else None
    return said or PerfRequest()


def program_of(line: str) -> str:
    """Return the program that a line is for; empty for a case id."""
    if not is_foreign(line):
        return ""
    return BENCHDNN if benchdnn.is_bare(line) else _program(line)[0]


def _asked(line: str, question: Callable[[Program], Callable[[Sequence[str]], Answer] | None]) -> Answer | None:
    """Return what a program's reader makes of a line; None if it has no such reader. ProblemError with the line."""
    if benchdnn.is_bare(line):
        return None
    name, words = _program(line)
    read = question(programs()[name])
    try:
        return None if read is None else read(words)
    except ProblemError as error:
        raise ProblemError(f"{one_line(line)}: {one_line(str(error))}") from None


def command_of(line: str) -> str:
    """Return a command line from its program on, without a log's prefix. ProblemError if there is no program."""
    return _located(line)[1]


def _program(line: str) -> tuple[str, list[str]]:
    """Return the entry of ``programs`` that a line is for, and its words from the program on."""
    name, command = _located(line)
    try:
        first, *others = shlex.split(_JOINED.sub("", without_comment(command).strip()).replace("\\", "/"))
    except ValueError as error:
        raise ProblemError(f"command line '{one_line(line)}': {error}") from None
    return name, [_called(first)[1], *of_one_command(others, lambda word: bool(_called(word)[0]))]


def _located(line: str) -> tuple[str, str]:
    """Return the entry of ``programs`` that a line is for, and the line from the program on.

    A log's prefix need not be shell words.
    """
    before = ""
    for word in _WORD.finditer(line):
        named, before = before == "cd" or _ASSIGNMENT.match(word[0]), word[0]
        if named:
            continue
        quote = word[0][0] if word[0][0] in QUOTES and word[0].count(word[0][0]) == 1 else ""
        if name := _called(word[0].strip(QUOTES))[0]:
            # The whole line in quotes is the line.
            return name, line[word.start() + len(quote) :].rpartition(quote)[0] if quote else line[word.start() :]
    known = ", ".join(name.rstrip("_") for name in programs())
    raise ProblemError(f"'{one_line(line)[:MOST_QUOTED]}' is {NO_LINE}{known}")


@lru_cache(maxsize=1)
def _names() -> re.Pattern[str]:
    return re.compile(rf"({'|'.join(programs())})[\w-]*", re.ASCII)


def _called(word: str) -> tuple[str, str]:
    """Return the entry of ``programs`` that a word is the path of, and its name there.

    Both are empty if it is none, as a log or a script with its name is.
    """
    last = _PATH.split(word)[-1].removesuffix(".exe")
    found = _names().fullmatch(last)
    return (found[1], last) if found else ("", last)
