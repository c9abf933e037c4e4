"""Case tables in the formats that teams have: ours, CSV, CK's gtest sources, and lists of command lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bitgate.coverage import ck_csv
from bitgate.coverage.assume import COLUMNS
from bitgate.coverage.table import (
    EVERYTHING,
    Question,
    Reader,
    Row,
    Table,
    pass_spoken_of,
    read_table,
    shape_problem,
    together,
)
from bitgate.errors import UsageError
from bitgate.operation import ProblemError, check_numbers
from bitgate.operation.foreign import Refused, found_in_list
from bitgate.operations.convolution import ConvProblem, Pass
from bitgate.project import Project

# ---------------------------------------------------------------------------------------------------------- our TOML


def read_toml(path: Path, question: Question) -> Table:
    """Every set of a case table, products expanded; rows that expect a refusal are no cases to cover with."""
    from bitgate.cases.expand import expand
    from bitgate.cases.table import load_set, set_names

    rows: dict[str, Row] = {}
    for name in set_names(path):
        for row in load_set(path, name):
            if row.refused or not _wanted({"name": row.name, "set": name}, question, path):
                continue
            for candidate in expand(row):
                # Options, fills and seeds run the same problem again: one row of coverage.
                rows.setdefault(repr(candidate.problem), Row(row.name, candidate.problem))
    return Table(str(path), tuple(rows.values()), EVERYTHING)


# --------------------------------------------------------------------------------------------------------------- CSV

_SPATIAL = ("filter", "input", "stride", "dilation", "left_pad", "right_pad")
_DEFAULTS = {"stride": "1", "dilation": "1", "left_pad": "0"}
_ALIASES = {"groups": "g", "dtype": "dtypes", "name": "id", "direction": "pass"}


def read_csv(path: Path, question: Question) -> Table:
    """Columns G, N, K, C, filter, input, stride, dilation, left_pad, right_pad (``3x3`` or one number for all axes),
    optionally id, ndim, pass and what ``--assume`` names (``assume.COLUMNS``); others serve ``--where``. Or those of
    CK's data sets (``ck_csv``)."""
    lines = [
        (number, line)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    reader = csv.DictReader(line for _, line in lines)
    names = [name.strip("\ufeff \t").lower() for name in reader.fieldnames or ()]
    records = [(number, record) for (number, _), record in zip(lines[1:], _renamed(reader, names), strict=False)]
    if ck_csv.is_ck(names):
        return _ck_table(path, records, question)
    names = [_ALIASES.get(name, name) for name in names]
    missing = [name for name in ("n", "k", "c", "filter", "input") if name not in names]
    if missing:
        raise UsageError(f"{path}: column {missing[0]} is missing; needed are N, K, C, filter, input")
    rows = []
    for number, ours in records:
        record = {_ALIASES.get(name, name): cell for name, cell in ours.items()}
        if not _wanted(record, question, path):
            continue
        try:
            direction = Pass(record["pass"]) if record.get("pass") else question.direction or pass_spoken_of(path, "")
            rows.append(Row(record.get("id") or f"line {number}", _csv_problem(record, direction)))
        except (ValueError, KeyError) as error:
            raise UsageError(f"{path}:{number}: {error}") from None
    return Table(str(path), tuple(rows), EVERYTHING & frozenset(names))


def _renamed(reader: csv.DictReader[str], names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Rows under the names; cells beyond the last column are left out, missing ones are empty."""
    reader.fieldnames = names
    try:
        for record in reader:
            yield {name: cell or "" for name, cell in record.items() if isinstance(name, str)}
    except csv.Error as error:
        raise UsageError(f"line {reader.line_num} is no row of a CSV table: {error}") from None


def _ck_table(path: Path, records: Sequence[tuple[int, dict[str, str]]], question: Question) -> Table:
    """Rows of CK's data sets; one that cannot be is refused, the others count."""
    direction = question.direction or pass_spoken_of(path, "")
    rows, refused = [], []
    for number, record in records:
        if not _wanted(record, question, path):
            continue
        try:
            rows.append(Row(ck_csv.name_of(record) or f"line {number}", ck_csv.problem(record, direction)))
        except ProblemError as error:
            refused.append(Refused(f"line {number}", str(error)))
    return Table(str(path), tuple(rows), frozenset(), refused=tuple(refused))


def _csv_problem(record: Mapping[str, str], direction: Pass) -> ConvProblem:
    cells = {name: (record.get(name) or _DEFAULTS.get(name, "")).strip() for name in _SPATIAL}
    cells["right_pad"] = cells["right_pad"] or cells["left_pad"]
    ndim = int(record.get("ndim") or len(cells["input"].split("x")))
    spatial = []
    for name, cell in cells.items():
        check_numbers(cell)
        values = tuple(int(part) for part in cell.split("x"))
        if len(values) not in (1, ndim):
            raise ProblemError(f"{name} = {cell}: give {ndim} numbers, or one for all axes")
        spatial.append(values if len(values) == ndim else values * ndim)
    numbers = (int(record.get("g") or 1), int(record["n"]), int(record["k"]), int(record["c"]))
    problem = shape_problem(direction, numbers, tuple(spatial))
    for name, value_of in COLUMNS.items():
        if record.get(name):
            problem = value_of(problem, record[name].strip())
    return problem


# ------------------------------------------------------------------------------------------------- CK's gtest sources

_NUMBER = r"\s*(\d+)[uUlL]*\s*"
_LIST = r"\s*(?:[\w:<>\s]*[\w>]\s*)?\{([\s\d,uUlL]*)\}\s*"
_INITIALISER = re.compile(r"[({]" + ",".join([_NUMBER] * 5) + "," + ",".join([_LIST] * 6) + r",?\s*[)}]")
_CALL = re.compile(r"\b(?:push_back|emplace_back)\s*(\()\s*(?:[\w:]+\s*)?([({])?")


def read_gtest(path: Path, question: Question) -> Table:
    """Initialisers of ConvParam in a C++ source: ndim, G, N, K, C, then filter, input, strides, dilations, left and
    right pads in braces; in push_back, emplace_back or a list, over any number of lines."""
    text = _without_comments(path.read_text(errors="replace"))
    direction = question.direction or pass_spoken_of(path, text)
    rows, notes = [], []
    for match in _INITIALISER.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        ndim, *numbers = (int(match[group]) for group in range(1, 6))
        spatial = tuple(_integers(match[group]) for group in range(6, 12))
        if any(len(values) != ndim for values in spatial):
            notes.append(f"line {line}: {ndim} dimensions stated, a list has another length: left out")
            continue
        g, n, k, c = numbers
        try:
            rows.append(Row(f"line {line}", shape_problem(direction, (g, n, k, c), spatial)))
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
    return tuple(int(value) for value in re.findall(r"\d+", text))


def _without_comments(text: str) -> str:
    """Comments become blanks; line numbers stay."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])

    return re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.DOTALL)


# ----------------------------------------------------------------------------------------------- lists of command lines


def read_lines(path: Path, question: Question) -> Table:
    """Case ids, ckProfiler, CK example, MIOpenDriver or benchdnn lines, benchdnn's batch files; # comments."""
    if question.where:
        raise UsageError(f"{path}: --where selects rows of a .csv or .toml table, command lines have no columns")
    rows, refused = [], []
    for entry in found_in_list(path):
        if isinstance(entry, Refused):
            refused.append(entry)
        else:
            rows.append(Row(entry.where, entry.problem))
    return Table(str(path), tuple(rows), EVERYTHING, refused=tuple(refused))


READERS: dict[str, Reader] = {
    ".toml": read_toml,
    ".csv": read_csv,
    **dict.fromkeys((".cpp", ".cc", ".cxx", ".hpp", ".h", ".hip", ".inc"), read_gtest),
}


def read(path: Path, question: Question) -> Table:
    """The table of any file; UsageError says what is wrong with it and where."""
    return read_table(path, question, READERS, read_lines)


def read_suites(project: Project, question: Question) -> Table:
    """All case tables of a project's suites. UsageError if they hold no case."""
    source = ", ".join(map(str, project.suites))
    return together(source, (read_toml(table, question) for table in project.tables()), question)


def _wanted(record: Mapping[str, str], question: Question, path: Path) -> bool:
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
