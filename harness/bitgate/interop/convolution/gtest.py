"""Convolutions in CK's gtest sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.interop.convolution.parameters import PASSES
from bitgate.interop.dialect import Dialect
from bitgate.model import ProblemError
from bitgate.model.space.table import NamedProblem, Table, TableReader, TableRequest
from bitgate.ops.convolution.space.tables import pass_of, shape_problem

SUFFIXES = (".cpp", ".cc", ".cxx", ".hpp", ".h", ".hip", ".inc")

_NUMBER = r"\s*(\d[\d']*)[uUlL]*\s*"
_LIST = r"\s*(?:[\w:<>\s]*[\w>]\s*)?\{([\s\d',uUlL]*)\}\s*"
_INITIALISER = re.compile(r"[({]" + ",".join([_NUMBER] * 5) + "," + ",".join([_LIST] * 6) + r",?\s*[)}]")
_CALL = re.compile(r"\b(?:push_back|emplace_back)\s*(\()\s*(?:[\w:]+\s*)?([({])?")


def read_gtest(path: Path, question: TableRequest) -> Table:
    """Initialisers of ConvParam in a C++ source: ndim, G, N, K, C, then filter, input, strides, dilations, left and
    right pads in braces; in push_back, emplace_back or a list, over any number of lines."""
    text = _without_comments(path.read_text(errors="replace"))
    direction = pass_of(question.operation, path, text)
    rows, notes = [], []
    for match in _INITIALISER.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        ndim, *numbers = (_integers(match[group])[0] for group in range(1, 6))
        spatial = tuple(_integers(match[group]) for group in range(6, 12))
        if any(len(values) != ndim for values in spatial):
            notes.append(f"line {line}: {ndim} dimensions stated, a list has another length: left out")
            continue
        g, n, k, c = numbers
        try:
            rows.append(NamedProblem(f"line {line}", shape_problem(direction, (g, n, k, c), spatial)))
        except ProblemError as error:
            notes.append(f"line {line}: {error}: left out")
    starts = {match.start() for match in _INITIALISER.finditer(text)}
    unread = sum(not {call.start(1), call.start(2)} & starts for call in _CALL.finditer(text))
    if unread:
        notes.append(f"{unread} push_back calls hold no literal numbers and are not counted")
    if question.where:
        raise UsageError(f"{path}: --where selects rows of a .csv or .toml table, a C++ source has no columns")
    return Table(str(path), tuple(rows), frozenset(), tuple(notes))


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(value) for value in re.findall(r"\d+", text.replace("'", "")))


def _without_comments(text: str) -> str:
    """Blank comments and the contents of ``#if 0``; line numbers stay."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])

    compiled = re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.DOTALL)
    return "".join(_without_dead_lines(compiled.splitlines(keepends=True)))


def _without_dead_lines(lines: Iterable[str]) -> Iterator[str]:
    """Lines between ``#if 0`` and its ``#else`` or ``#endif`` become empty."""
    depth = 0
    for line in lines:
        word = re.match(r"\s*#\s*(if\w*|el\w+|endif)\b\s*(\w*)", line)
        if word and depth:
            depth += word[1].startswith("if") - (word[1] == "endif" or (depth == 1 and word[1].startswith("el")))
        elif word and word[1] == "if" and word[2] == "0":
            depth = 1
        yield "\n" if depth else line


DIALECT = Dialect(PASSES, readers=(TableReader(SUFFIXES, read_gtest),))
