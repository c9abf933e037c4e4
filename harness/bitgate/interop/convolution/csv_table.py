"""Convolutions in CSV files: one column a quantity, or those of CK's data sets (``ck_csv``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.interop.convolution import ck_csv
from bitgate.interop.convolution.parameters import PASSES
from bitgate.interop.dialect import Dialect
from bitgate.model import ProblemError, check_numbers
from bitgate.model.space.table import NamedProblem, Refused, Table, TableReader, TableRequest, read_records, wanted
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.space.tables import COLUMNS, pass_of, shape_problem

NEEDED = ("n", "k", "c", "filter", "input")
_SPATIAL = ("filter", "input", "stride", "dilation", "left_pad", "right_pad")
_DEFAULTS = {"stride": "1", "dilation": "1", "left_pad": "0"}
_ALIASES = {"groups": "g", "dtype": "dtypes", "name": "id", "direction": "pass"}


def likeness(columns: frozenset[str]) -> int:
    """Count the needed columns that are there."""
    if ck_csv.is_ck(columns):
        return len(ck_csv.MARKS)
    return len({_ALIASES.get(name, name) for name in columns} & set(NEEDED))


def read_csv(path: Path, question: TableRequest) -> Table:
    """Columns G, N, K, C, filter, input, stride, dilation, left_pad, right_pad (``3x3`` or one number for all axes),
    optionally id, ndim, pass and what ``--assume`` names (COLUMNS); others serve ``--where``. Or those of CK's data
    sets."""
    file = read_records(path)
    if ck_csv.is_ck(file.columns):
        return _ck_table(path, file.records, question)
    names = [_ALIASES.get(name, name) for name in file.columns]
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise UsageError(f"{path}: column {missing[0]} is missing; needed are N, K, C, filter, input")
    rows = []
    for number, ours in file.records:
        record = {_ALIASES.get(name, name): cell for name, cell in ours.items()}
        if not wanted(record, question, path):
            continue
        try:
            direction = Pass(record["pass"]) if record.get("pass") else pass_of(question.operation, path)
            rows.append(NamedProblem(record.get("id") or f"line {number}", _problem(record, direction)))
        except (ValueError, KeyError) as error:
            raise UsageError(f"{path}:{number}: {error}") from None
    return Table(str(path), tuple(rows), frozenset(COLUMNS) & frozenset(names))


def _ck_table(path: Path, records: Sequence[tuple[int, dict[str, str]]], question: TableRequest) -> Table:
    """Rows of CK's data sets; one that cannot be is refused, the others count."""
    direction = pass_of(question.operation, path)
    rows, refused = [], []
    for number, record in records:
        if not wanted(record, question, path):
            continue
        try:
            rows.append(NamedProblem(ck_csv.name_of(record) or f"line {number}", ck_csv.problem(record, direction)))
        except ProblemError as error:
            refused.append(Refused(f"line {number}", str(error)))
    return Table(str(path), tuple(rows), frozenset(), refused=tuple(refused))


def _problem(record: Mapping[str, str], direction: Pass) -> ConvProblem:
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
    for name, column in COLUMNS.items():
        if record.get(name):
            problem = column.put(problem, record[name].strip())
    return problem


DIALECT = Dialect(PASSES, readers=(TableReader((".csv",), read_csv, likeness),))
