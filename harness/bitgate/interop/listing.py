"""A list of cases, one or more a line: case ids, foreign command lines, and what benchdnn's batch files hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from bitgate.interop import benchdnn
from bitgate.interop.decoding import decoded
from bitgate.interop.found import Found, Refused, Understood, one_line
from bitgate.model.problem import Problem, ProblemError

Parser = Callable[[str, Path, str], Iterator[Found]]


def read_list(path: Path, parse: Parser) -> Iterator[Found]:
    """Yield what each line asks for; ``parse`` reads a line that names a program or is a case id. Errors are refusals.

    Lines without a program's name are benchdnn's and share one state, as in its batch files; a command line has its
    own. Files that a line names are sought next to the list. OSError if it cannot be read.
    """
    reader = benchdnn.Reader(path.parent, path)
    for number, line in _lines(decoded(path.read_bytes())):
        text, where = benchdnn.without_comment(line), f"line {number}"
        if not text:
            continue
        try:
            if benchdnn.is_bare(text):
                yield from reader.words(benchdnn.words_of(text), where)
            else:
                yield from parse(text, path.parent, where)
        except ProblemError as error:
            yield Refused(where, str(error).removeprefix(f"{one_line(text)}: "))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its number; lines that a backslash joins are one, with the number of the first."""
    joined, begin = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        joined, begin = joined + line, begin or number
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        yield begin, joined
        joined, begin = "", 0
    if joined:
        yield begin, joined


def understood(problems: tuple[Problem, ...], where: str, line: str) -> Iterator[Found]:
    """Problems of one line."""
    return (Understood(where, problem, line) for problem in problems)
