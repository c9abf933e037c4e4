"""Case tables: TOML files whose arrays of tables are named sets of rows. ``docs/suites.md`` has the format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from bitgate.core.choices import SMOKE
from bitgate.core.errors import UsageError
from bitgate.core.project import TABLE as TABLE
from bitgate.core.table_fields import FieldError, are_tables, checked, text
from bitgate.core.toml import read_toml, row_lines
from bitgate.suite.row import CaseRow, Origin, make_row, name_of, near
from bitgate.suite.solved_list import is_list, read_list

DEFAULT_SET = "case"
SOLVED = "solved"
"""The name of the rows of a list."""

ABOUT = ("title", "source", "note")
"""Texts at the top of a table that say what it is: for people, and for a sweep's tables and plots."""

Part = tuple[Path, str, int]
"""File, set and number, from 1, of a row as it is written."""


def load_set(
    path: Path, set_name: str = DEFAULT_SET, smoke_on: str = "", among: frozenset[str] | None = None
) -> tuple[CaseRow, ...]:
    """Return the rows of one set of a table, includes followed. Raises UsageError naming file, line, row and field.

    With a target kind in ``smoke_on``, lines of solved lists that are not of its smoke tier are left out, and with
    ``among`` those of other cases: they are most of what there is to check.
    """
    found = _fields_of_set(path.resolve(), set_name, (), smoke_on, among)
    return tuple(make_row(fields, origin) for fields, origin, _ in found)


def parts_of_set(path: Path, set_name: str) -> list[tuple[Origin, tuple[Part, ...]]]:
    """Return the place of each row of a set, and its parts: the row itself, and the rows that include it."""
    return [(origin, parts) for _, origin, parts in _fields_of_set(path.resolve(), set_name, ())]


def loads(path: Path) -> tuple[Path, ...]:
    """Return the declarations that a table names in ``load``, whose kernels its rows are for."""
    return _document(path.resolve())[3]


def set_names(path: Path) -> tuple[str, ...]:
    """Return the sets of a table, in the order of the file."""
    return tuple(_document(path.resolve())[0])


def about(path: Path) -> dict[str, str]:
    """Return the texts of ABOUT that a table states."""
    return _document(path.resolve())[4]


def _fields_of_set(
    path: Path, set_name: str, within: tuple[str, ...], smoke_on: str = "", among: frozenset[str] | None = None
) -> list[tuple[dict[str, Any], Origin, tuple[Part, ...]]]:
    if is_list(path):
        lines_here = (one for one in read_list(path) if not smoke_on or one.tier_on(smoke_on) == SMOKE)
        asked = (one for one in lines_here if among is None or one.case in among)
        return [(one.fields, Origin(path, one.line, set_name, SOLVED), ()) for one in asked]
    sets, defaults, lines, *_ = _document(path)
    here = f"{path.name}#{set_name}"
    if here in within:
        raise UsageError(f"{path}: include goes in a circle: {' -> '.join((*within, here))}; remove one of them")
    if set_name not in sets:
        raise UsageError(f"{path}: has no [[{set_name}]]; {near(set_name, sets)}")
    found: list[tuple[dict[str, Any], Origin, tuple[Part, ...]]] = []
    for number, own in enumerate(sets[set_name], 1):
        origin = Origin(path, lines[set_name][number - 1], set_name, name_of(own, number))
        part = (path, set_name, number)
        if "include" not in own:
            found.append(({**defaults, **own}, origin, (part,)))
            continue
        other, other_set = _included(own["include"], origin)
        # An including row has the last word, but only on what it states itself: its file's defaults stay at home.
        over = {name: value for name, value in own.items() if name not in ("include", "name")}
        included = _fields_of_set(other, other_set, (*within, here), "" if "tier" in over else smoke_on, among)
        found += [({**fields, **over}, row, (*parts, part)) for fields, row, parts in included]
    return found


def _included(value: Any, origin: Origin) -> tuple[Path, str]:
    """Return file and set of ``"other.toml#name"``, or of ``"#name"`` for a set of the same file."""
    match = re.fullmatch(r"([^#]*)(?:#(\w+))?", value) if isinstance(value, str) else None
    if match is None or not value:
        raise FieldError(origin, "include", f"{value!r} is not like 'other.toml#set' or '#set'")
    path = (origin.path.parent / match[1]).resolve() if match[1] else origin.path
    if not path.is_file():
        raise FieldError(origin, "include", f"{path} does not exist; paths are relative to the including file")
    return path, match[2] or DEFAULT_SET


Document = tuple[
    dict[str, list[dict[str, Any]]], dict[str, Any], dict[str, list[int]], tuple[Path, ...], dict[str, str]
]
"""Sets, defaults, lines of the rows of each set, declarations of a table, and its texts of ABOUT."""


@lru_cache(maxsize=64)
def _read(path: Path, stamp: int) -> Document:
    document, written = read_toml(path)
    defaults = document.pop("defaults", {})
    if not isinstance(defaults, Mapping):
        raise UsageError(f"{path}: defaults: write one table, [defaults], of fields that every row of the file has")
    stated = [document.pop("load", None), dict(defaults).pop("load", None)]
    load = tuple(place for value in stated if value is not None for place in _declarations(value, path))
    said = {name: checked(path, name, text, document.pop(name)) for name in ABOUT if name in document}
    for name, rows in document.items():
        if not are_tables(rows):
            raise UsageError(f"{path}: '{name}' is not a set of rows; write [[{name}]] above each row, or [defaults]")
    lines = {name: row_lines(written, name, len(rows)) for name, rows in document.items()}
    return document, {name: value for name, value in defaults.items() if name != "load"}, lines, load, said


def _declarations(value: Any, path: Path) -> list[Path]:
    """Return the named declarations, relative to the table, of a folder its declaration.py."""
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise UsageError(f"{path}: load: give a list of declarations, such as load = ['../my_kernel/declaration.py']")
    places = [(path.parent / name).resolve() for name in names]
    for place in places:
        if not place.exists():
            raise UsageError(f"{path}: load: {place} does not exist; declarations are named relative to the table")
    return places


def _document(path: Path) -> Document:
    try:
        return _read(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such case table; a suite is a folder with a {TABLE} and test modules") from None
