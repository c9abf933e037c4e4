"""Records of a CSV file by column names in lower case; lines that begin with # and empty ones are left out."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bitgate.core.errors import UsageError


@dataclass(frozen=True)
class CsvFile:
    """``records``: the line's number and its cells."""

    columns: tuple[str, ...]
    records: tuple[tuple[int, dict[str, str]], ...]


def read_records(path: Path) -> CsvFile:
    """UsageError for a line that is no row."""
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
    """Rows under the names; cells beyond the last column are left out, missing ones are empty."""
    reader.fieldnames = names
    try:
        for record in reader:
            yield {name: cell or "" for name, cell in record.items() if isinstance(name, str)}
    except csv.Error as error:
        raise UsageError(f"line {reader.line_num} is no row of a CSV table: {error}") from None
