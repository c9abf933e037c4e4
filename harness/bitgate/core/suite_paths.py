"""Suites on a command line: which of its words are folders or files of suites."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

TABLE = "cases.toml"


def names_a_suite(arguments: Sequence[str | object], folder: Path) -> bool:
    """Return whether a pytest command line asks for suites: folders that have a case table, up to two levels down."""
    paths = [folder / str(argument).partition("::")[0] for argument in arguments if not str(argument).startswith("-")]
    places = [path for path in paths if _exists(path)]
    if not places:
        # No path: pytest goes by ``testpaths``, which are another project's tests unless we stand in the suites.
        return _has_table(folder, 1)
    return any(_has_table(place, 2) if place.is_dir() else (place.parent / TABLE).is_file() for place in places)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # no path at all: the words of a long -k
        return False


def _has_table(folder: Path, depth: int) -> bool:
    return any(next(folder.glob("*/" * level + TABLE), None) for level in range(depth + 1))
