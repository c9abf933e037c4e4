"""Tables of cases in files of other harnesses, as the readers of dialects understand them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.interop.benchdnn_words import without_comment
from bitgate.interop.decoding import decoded
from bitgate.interop.dialect import table_readers
from bitgate.interop.found import Found, Refused, Understood
from bitgate.model.space.table import TableReader, TableRequest, read_records

CSV = ".csv"
_HEADER = "ndim,"
"""The begin, in lower case, of the header of CK's data sets."""
_SHAPE = ("dtypes", "layout")
"""Columns without which a row is a shape alone."""


def reader_of(path: Path) -> TableReader | None:
    """Return the reader of a file by its suffix, of several the one that knows most of the header's columns.

    None for a list of lines. A data set of CK is known by its header, whatever the suffix. OSError if the file cannot
    be read.
    """
    suffix = CSV if _is_data_set(path) else path.suffix.lower()
    able = [reader for reader in table_readers() if suffix in reader.suffixes]
    if suffix == CSV and len(able) > 1:
        header = frozenset(read_records(path).columns)
        return max(able, key=lambda reader: reader.likeness(header))
    return able[0] if able else None


def found_in_table(path: Path, reader: TableReader) -> Iterator[Found]:
    """Yield the problems of a table's rows, then its refused rows and what else could not be read.

    UsageError for a table without rows, or one that misses a column.
    """
    table = reader.read(path, TableRequest())
    if not (table.rows or table.refused or table.notes):
        raise UsageError(f"{path}: no case found")
    missing = " and no ".join(name for name in _SHAPE if name not in table.stated)
    for row in table.rows:
        problem = row.problem
        read_as = f"{problem.operation} in {problem.dtypes}, {problem.layout}"
        yield Understood(row.name, problem, note=f"the table states no {missing}: {read_as}" if missing else "")
    yield from table.refused
    yield from (Refused(path.name, note) for note in table.notes)


def _is_data_set(path: Path) -> bool:
    lines = (without_comment(line).strip() for line in decoded(path.read_bytes()).splitlines())
    return next(filter(None, lines), "").lower().startswith(_HEADER)
