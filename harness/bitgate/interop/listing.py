"""A list of cases, one or more a line: case ids, foreign command lines, and what benchdnn's batch files hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from bitgate.interop import benchdnn
from bitgate.interop.benchdnn_words import joined_lines, joined_words
from bitgate.interop.decoding import decoded
from bitgate.interop.found import Found, Refused, Understood, one_line
from bitgate.model.problem import Problem, ProblemError

_NAMES = re.compile(r"\s*(?:[^\s|]+\s*\|(?!\|)\s*)+")
Parser = Callable[[str, Path, str], Iterator[Found]]


def read_list(path: Path, parse: Parser) -> Iterator[Found]:
    """Yield what each line asks for; ``parse`` reads a line that names a program or is a case id. Errors are refusals.

    Lines without a program's name are benchdnn's and share one state, as in its batch files; a command line has its
    own. ``NAME|`` in front of a line is its name. Files that a line names are sought next to the list. OSError if it
    cannot be read.
    """
    text = decoded(path.read_bytes())
    reader = benchdnn.Reader(path.parent, path, text)
    for number, lines in joined_lines(text, lambda line: not benchdnn.is_bare(_unnamed(line))):
        where, first = f"line {number}", _unnamed(lines[0])
        whole = "".join(line.removesuffix("\\") for line in [first, *lines[1:]]).strip()
        try:
            if benchdnn.is_bare(first):
                yield from reader.words(joined_words([first, *lines[1:]]), where)
            elif whole:
                yield from parse(whole, path.parent, where)
        except ProblemError as error:
            yield Refused(where, str(error).removeprefix(f"{one_line(whole)}: "))


def _unnamed(line: str) -> str:
    """Return a line without the names that are parted from it by bars and hold no blanks."""
    return _NAMES.sub("", line)


def understood(problems: tuple[Problem, ...], where: str, line: str) -> Iterator[Found]:
    """Problems of one line."""
    return (Understood(where, problem, line) for problem in problems)
