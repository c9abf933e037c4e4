"""Sources of a case table's rows: a row that includes others is made of several, in several files; a solved list has
one a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from bitgate.suite.solved_list import LINES, is_list
from bitgate.suite.table import parts_of_set, set_names

Places = Mapping[tuple[str, int], frozenset[tuple[str, str]]]
"""Set and number of a row in a file -> suite and ``file:line``, as plans name rows, of all that are made of it."""


def row_sources(table: Path) -> dict[Path, Places]:
    """Return row sources by file: the table, and what it includes. Raises UsageError as ``load_set``."""
    found: dict[Path, dict[tuple[str, int], set[tuple[str, str]]]] = defaultdict(lambda: defaultdict(set))
    for name in set_names(table.resolve()):
        for origin, parts in parts_of_set(table, name):
            lines = ((origin.path, LINES, origin.line),) if is_list(origin.path) else ()
            for path, set_name, number in (*parts, *lines):
                found[path][set_name, number].add((table.parent.name, origin.place))
    return {path: {row: frozenset(places) for row, places in rows.items()} for path, rows in found.items()}
