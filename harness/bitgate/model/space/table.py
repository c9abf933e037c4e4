"""A team's list of test cases, whatever file it comes from: rows with names, and the columns that it states."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bitgate.core.errors import UsageError


@dataclass(frozen=True)
class CsvFile:
    """A CSV file; ``records`` hold the line's number and its cells."""

    columns: tuple[str, ...]
    records: tuple[tuple[int, dict[str, str]], ...]


def read_records(path: Path) -> CsvFile:
    """Read records by column names in lower case; UsageError for a line that is no row.

    Empty lines and those that begin with # are left out.
    """
    lines = [
        (number, line)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    reader = csv.DictReader(line for _, line in lines)
    try:
        names = [name.strip("\ufeff \t").lower() for name in reader.fieldnames or ()]
    except csv.Error as error:
        raise UsageError(f"line 1 is no header of a CSV table: {error}") from None
    records = [(number, record) for (number, _), record in zip(lines[1:], _renamed(reader, names), strict=False)]
    return CsvFile(tuple(names), tuple(records))


def _renamed(reader: csv.DictReader[str], names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield rows under the names; cells beyond the last column are left out, missing ones are empty."""
    reader.fieldnames = names
    try:
        for record in reader:
            yield {name: cell or "" for name, cell in record.items() if isinstance(name, str)}
    except csv.Error as error:
        raise UsageError(f"line {reader.line_num} is no row of a CSV table: {error}") from None


class NamedProblem(NamedTuple):
    name: str
    problem: Any


@dataclass(frozen=True)
class Refused:
    """A line without a problem: its place, and the reason."""

    where: str
    reason: str


@dataclass(frozen=True)
class Table:
    """A table of named problems.

    ``stated`` lists the columns (``ProblemSpace.columns``) that the file gives; the others have default values in the
    rows and take no part as factors. ``refused`` are lines without a row, ``notes`` what else could not be read.
    """

    source: str
    rows: tuple[NamedProblem, ...]
    stated: frozenset[str]
    notes: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class TableRequest:
    """The options of a reader next to the path: rows wanted (``--where``), and the operation of rows that name none."""

    where: tuple[tuple[str, str], ...] = ()
    operation: str = ""


Reader = Callable[[Path, TableRequest], Table]


@dataclass(frozen=True)
class TableReader:
    """A reader of an operation's files of ``suffixes``.

    Of several readers that take a suffix the one with the largest ``likeness`` reads a file: of the columns in a CSV
    file's header, in lower case.
    """

    suffixes: tuple[str, ...]
    read: Reader
    likeness: Callable[[frozenset[str]], int] = lambda columns: 0


def wanted(record: Mapping[str, str], question: TableRequest, path: Path) -> bool:
    """Return whether the columns have the values of ``--where``; without a name, any column may have the value."""
    for name, value in question.where:
        if not name:
            if value not in record.values():
                return False
        elif name.lower() not in record:
            raise UsageError(f"{path}: --where {name}={value}: no such column; known are {', '.join(record)}")
        elif record[name.lower()] != value:
            return False
    return True
