"""A team's list of test cases, whatever file it comes from: rows with names, and what the file speaks of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bitgate.core.errors import UsageError


class NamedProblem(NamedTuple):
    name: str
    problem: Any


@dataclass(frozen=True)
class Refused:
    """A line that no problem came of: where it stands, and the reason."""

    where: str
    reason: str


@dataclass(frozen=True)
class Table:
    """``stated``: the columns (``Space.columns``) that the file gives; what it leaves out has default values in the
    rows and takes no part as a factor. ``refused`` are lines that no row came of, ``notes`` what else could
    not be read."""

    source: str
    rows: tuple[NamedProblem, ...]
    stated: frozenset[str]
    notes: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class TableRequest:
    """What a reader needs beside the path: rows wanted (``--where``), and the operation of rows that name none."""

    where: tuple[tuple[str, str], ...] = ()
    operation: str = ""


Reader = Callable[[Path, TableRequest], Table]


@dataclass(frozen=True)
class TableReader:
    """Files of ``suffixes`` that an operation's cases stand in. Of several readers that take a suffix the one that
    finds the file most like its own reads it: ``likeness`` of the columns in a CSV file's header, lower case."""

    suffixes: tuple[str, ...]
    read: Reader
    likeness: Callable[[frozenset[str]], int] = lambda columns: 0


def wanted(record: Mapping[str, str], question: TableRequest, path: Path) -> bool:
    """Do the columns have the values that ``--where`` asks for? Without a name, any column may have the value."""
    for name, value in question.where:
        if not name:
            if value not in record.values():
                return False
        elif name.lower() not in record:
            raise UsageError(f"{path}: --where {name}={value}: no such column; known are {', '.join(record)}")
        elif record[name.lower()] != value:
            return False
    return True
