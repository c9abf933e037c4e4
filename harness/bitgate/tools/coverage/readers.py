"""Case tables in the formats that teams have: ours, lists of command lines, and formats that dialects register."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.interop import Refused, found_in_list
from bitgate.interop.tables import reader_of
from bitgate.model.space.table import NamedProblem, Table, TableReader, TableRequest, wanted
from bitgate.tools.coverage.assume import all_columns


def read(path: Path, request: TableRequest) -> Table:
    """Read the table of any file, by its suffix. Raises UsageError with the place of what is wrong, or if it has no
    case."""
    if not path.is_file():
        raise UsageError(
            f"{path}: no such file; give a .toml or .csv table, CK's gtest source, or a list of command lines"
        )
    try:
        reader = OURS if path.suffix.lower() in OURS.suffixes else reader_of(path)
        table = (reader or LINES).read(path, request)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    return _with_rows(table, request)


def read_toml(path: Path, request: TableRequest) -> Table:
    """Read every set of a case table, products expanded; rows that expect a refusal are left out."""
    from bitgate.suite.expand import expand
    from bitgate.suite.table import load_set, set_names

    rows: dict[str, NamedProblem] = {}
    for name in set_names(path):
        for row in load_set(path, name):
            if row.refused or not wanted({"name": row.name, "set": name}, request, path):
                continue
            for candidate in expand(row):
                # Options, fills and seeds run the same problem again: one row of coverage.
                rows.setdefault(repr(candidate.problem), NamedProblem(row.name, candidate.problem))
    return Table(str(path), tuple(rows.values()), all_columns())


def read_lines(path: Path, request: TableRequest) -> Table:
    """Read case ids, ckProfiler, CK example, MIOpenDriver or benchdnn lines, and benchdnn's batch files; # begins a
    comment."""
    if request.where:
        raise UsageError(f"{path}: --where selects rows of a .csv or .toml table, command lines have no columns")
    rows, refused = [], []
    notes: Counter[str] = Counter()
    for entry in found_in_list(path):
        if isinstance(entry, Refused):
            refused.append(entry)
        else:
            rows.append(NamedProblem(entry.where, entry.problem))
            notes[entry.note] += bool(entry.note)
    counted_notes = tuple(f"{count} x {note}" for note, count in notes.items() if count)
    return Table(str(path), tuple(rows), all_columns(), counted_notes, tuple(refused))


def read_suites(project: Project, request: TableRequest) -> Table:
    """Read all case tables of a project's suites, each problem as one row. Raises UsageError if they hold no case."""
    rows: dict[str, NamedProblem] = {}
    refused: list[Refused] = []
    for table in (read_toml(path, request) for path in project.tables()):
        refused += table.refused
        for row in table.rows:
            rows.setdefault(repr(row.problem), row)
    source = ", ".join(map(str, project.suites))
    return _with_rows(Table(source, tuple(rows.values()), all_columns(), refused=tuple(refused)), request)


def _with_rows(table: Table, request: TableRequest) -> Table:
    if not table.rows:
        stated = " and ".join(f"{name}={value}" for name, value in request.where)
        notes = [*(f"{line.where}: {line.reason}" for line in table.refused), *table.notes]
        why = f" with {stated}" if stated else f": {notes[0]}" if notes else ""
        raise UsageError(f"{table.source}: no case found{why}; nothing to cover")
    return table


OURS = TableReader((".toml",), read_toml)
LINES = TableReader((), read_lines)
"""The reader of files that no other reader takes."""
