"""Pages of tables: what a command found, for readers of a browser. All texts of rows are shown as texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bitgate.results.report.page import house

MOST_ROWS = 5000


class TableCell(NamedTuple):
    """A cell of a table: ``kind`` is good, bad or odd, ``code`` text is shown as it would be typed."""

    text: str
    kind: str = ""
    code: bool = False


@dataclass(frozen=True)
class TableSection:
    """A table with its title. A cell may be a text alone; a column of numbers is aligned to the right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[TableCell | str]]
    notes: Sequence[str] = ()
    numbers: frozenset[str] = field(default_factory=frozenset)

    @property
    def cells(self) -> list[list[TableCell]]:
        """The rows that are shown, of cells alone."""
        return [[one if isinstance(one, TableCell) else TableCell(one) for one in row] for row in self.rows[:MOST_ROWS]]

    @property
    def left_out(self) -> int:
        return max(0, len(self.rows) - MOST_ROWS)


def write_tables(file: Path, title: str, kind: str, notes: Iterable[str], sections: Sequence[TableSection]) -> None:
    """Write a page of tables; ``kind`` is the colour of its title. UsageError if it cannot be written."""
    text = house.render("tables.html.j2", title=title, kind=kind, notes=list(notes), sections=sections)
    house.write_page(file, text)
