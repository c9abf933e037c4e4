"""``bitgate.toml``, the file of a user's repository, and how a command finds it; ``docs/project.md``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bitgate.core.choices import JUNIT_DIALECTS, TIERS
from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.core.table_fields import TableFields, names, one_of
from bitgate.core.toml import read_toml

FILE = "bitgate.toml"
TABLE = "bitgate"


def find(*places: Path | None) -> Project:
    """Return the project of the first of these places that is in one, else of the current folder, else bitgate itself.

    A place is in the project whose ``bitgate.toml`` is in its folder or in one above. bitgate's own checkout, and
    what is installed with it, belong to no project around them. Raises UsageError for a file that is wrong.
    """
    for place in (*places, Path.cwd()):
        if place is not None and (file := _file_above(place.resolve())) is not None:
            return read(file)
    return ours()


def read(file: Path) -> Project:
    """Return the project that a file states. Raises UsageError naming the file, the key, and what to do."""
    file = file.absolute()
    checks = {key: partial(reader, file.parent) for key, reader in KEYS.items()}
    values = TableFields(checks).read(file, _stated(file))
    return Project(root=file.parent, file=file, **{**_defaults(file.parent, values), **values})


def _file_above(place: Path) -> Path | None:
    home = ours().root.resolve()
    for folder in (place, *place.parents):
        if folder == home:
            return None
        if (folder / FILE).is_file():
            return folder / FILE
    return None


def _stated(file: Path) -> Mapping[str, Any]:
    document, _ = read_toml(file)
    for name in document:
        if name != TABLE:
            raise UsageError(f"{file}: '{name}' is unknown: all keys stand below [{TABLE}]")
    table = document.get(TABLE, {})
    if not isinstance(table, dict):
        raise UsageError(f"{file}: '{TABLE}' is a table: write [{TABLE}] above the keys")
    return table


def _defaults(root: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of keys that have a usual place. A project without suites runs bitgate's."""
    beside, targets = root / "suites", root / "ci" / "targets.toml"
    suites = values.get("suites") or ((beside,) if beside.is_dir() else ours().suites)
    own = [path for folder in suites if folder not in ours().suites for path in folder.glob("faults/*.toml")]
    return {
        "suites": suites,
        "faults": tuple(sorted(own)),
        "targets": targets if targets.is_file() else None,
    }


def _place(root: Path, name: str) -> Path:
    try:
        path = (root / name).resolve()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError) as error:  # a NUL, a name of thousands of letters, links in a circle
        raise ValueError(f"{name!r:.80} is no path: {error}") from None
    if not exists:
        raise ValueError(f"{path} does not exist; paths are relative to the file")
    return path


def _of_kind(root: Path, name: str, is_one: Callable[[Path], bool], kind: str) -> Path:
    path = _place(root, name)
    if not is_one(path):
        raise ValueError(f"{path} is no {kind}")
    return path


def _folders(root: Path, value: Any) -> tuple[Path, ...]:
    return tuple(_of_kind(root, name, Path.is_dir, "folder") for name in names(value))


def _files(root: Path, value: Any) -> tuple[Path, ...]:
    return tuple(_of_kind(root, name, Path.is_file, "file") for name in names(value))


def _one_file(root: Path, value: Any) -> Path:
    if not isinstance(value, str) or not value:
        raise ValueError(f'{value!r:.80} is not a text such as "..."')
    return _of_kind(root, value, Path.is_file, "file")


def _declarations(root: Path, value: Any) -> tuple[Path, ...]:
    """Return the named declarations, of a folder its declaration.py."""
    places = [_place(root, name) for name in names(value)]
    files = tuple(path / "declaration.py" if path.is_dir() else path for path in places)
    for file in files:
        if not file.is_file():
            raise ValueError(f"{file} does not exist: name a declaration, or the folder of its declaration.py")
    return files


def _tables(root: Path, value: Any) -> tuple[Path, ...]:
    """Return the named files, of a folder every TOML file in it."""
    found: dict[Path, None] = {}
    for path in (_place(root, name) for name in names(value)):
        files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"{path} holds no .toml file")
        found |= dict.fromkeys(files)
    return tuple(found)


def _tiers(root: Path, value: Any) -> tuple[str, ...]:
    """Return the named tiers, the smallest first."""
    chosen = [*map(one_of(*TIERS), names(value))]
    return tuple(name for name in TIERS if name in chosen)


def _dialect(root: Path, value: Any) -> str:
    return str(one_of(*JUNIT_DIALECTS)(value))


KEYS: dict[str, Callable[[Path, Any], Any]] = {
    "suites": _folders,
    "load": _declarations,
    "targets": _one_file,
    "tiers": _tiers,
    "faults": _tables,
    "known_bugs": _files,
    "operations": _files,
    "rules": _files,
    "junit": _dialect,
}
"""Keys, which are fields of Project, and what reads each of them. Paths are relative to the folder of the file."""
