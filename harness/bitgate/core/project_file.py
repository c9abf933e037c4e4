"""``bitgate.toml``: what an owner's repository says of itself, and how a command finds it. ``docs/project.md``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError, near
from bitgate.core.project import TIERS, Project, ours
from bitgate.core.untrusted import InvalidInput, read_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "bitgate.toml"
TABLE = "bitgate"
LONGEST = 1 << 20


def find(*places: Path | None) -> Project:
    """The project of the first of these places that lies in one, else of the current folder, else bitgate itself.

    A place lies in the project whose ``bitgate.toml`` is in its folder or in one above. What lies in bitgate's own
    checkout, or is installed with it, is not of a project around that. UsageError for a file that is wrong.
    """
    for place in (*places, Path.cwd()):
        if place is not None and (file := _file_above(place.resolve())) is not None:
            return read(file)
    return ours()


def read(file: Path) -> Project:
    """UsageError naming the file, the key, and what to do: unknown keys, wrong types, what does not exist."""
    file = file.absolute()
    stated = _stated(file)
    for key in stated:
        if key not in KEYS:
            raise UsageError(f"{file}: unknown key '{key}': {near(key, KEYS)}")
    values = {key: KEYS[key](FileEntry(file, key, value)) for key, value in stated.items()}
    return Project(root=file.parent, file=file, **{**_defaults(file.parent, values), **values})


@dataclass(frozen=True)
class FileEntry:
    """A key of a file, and its value."""

    file: Path
    key: str
    value: Any

    def wrong(self, what: str) -> UsageError:
        return UsageError(f"{self.file}: {self.key}: {what}")


def _file_above(place: Path) -> Path | None:
    home = ours().root.resolve()
    for folder in (place, *place.parents):
        if folder == home:
            return None
        if (folder / FILE).is_file():
            return folder / FILE
    return None


def _stated(file: Path) -> Mapping[str, Any]:
    try:
        document = tomllib.loads(read_bytes(file, LONGEST).decode())
    except InvalidInput as error:
        raise UsageError(f"{file}: {error}") from None
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, a number of thousands of digits
        raise UsageError(f"{file}: not TOML: {error}") from None
    for name in document:
        if name != TABLE:
            raise UsageError(f"{file}: '{name}' is unknown: all keys stand below [{TABLE}]")
    table = document.get(TABLE, {})
    if not isinstance(table, dict):
        raise UsageError(f"{file}: '{TABLE}' is a table: write [{TABLE}] above the keys")
    return table


def _defaults(root: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    """What has a usual place need not be stated. Without suites of its own a project runs bitgate's."""
    beside, targets = root / "suites", root / "ci" / "targets.toml"
    suites = values.get("suites") or ((beside,) if beside.is_dir() else ours().suites)
    own = [path for folder in suites if folder not in ours().suites for path in folder.glob("faults/*.toml")]
    return {
        "suites": suites,
        "faults": tuple(sorted(own)),
        "targets": targets if targets.is_file() else None,
    }


def _names(stated: FileEntry) -> tuple[str, ...]:
    value = stated.value
    if not isinstance(value, list) or not value or not all(isinstance(name, str) and name for name in value):
        raise stated.wrong(f'{value!r:.80} is no list of texts: write {stated.key} = ["..."]')
    if twice := next((name for name in value if value.count(name) > 1), None):
        raise stated.wrong(f"'{twice}' stands there twice")
    return tuple(value)


def _place(stated: FileEntry, name: str) -> Path:
    try:
        path = (stated.file.parent / name).resolve()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError) as error:  # a NUL, a name of thousands of letters, links in a circle
        raise stated.wrong(f"{name!r:.80} is no path: {error}") from None
    if not exists:
        raise stated.wrong(f"{path} does not exist; paths are relative to the file")
    return path


def _folders(stated: FileEntry) -> tuple[Path, ...]:
    return _all(stated, Path.is_dir, "folder")


def _files(stated: FileEntry) -> tuple[Path, ...]:
    return _all(stated, Path.is_file, "file")


def _all(stated: FileEntry, is_one: Callable[[Path], bool], kind: str) -> tuple[Path, ...]:
    places = tuple(_place(stated, name) for name in _names(stated))
    for place in places:
        if not is_one(place):
            raise stated.wrong(f"{place} is no {kind}")
    return places


def _declarations(stated: FileEntry) -> tuple[Path, ...]:
    """A folder stands for its declaration.py."""
    named = (_place(stated, name) for name in _names(stated))
    files = tuple(path / "declaration.py" if path.is_dir() else path for path in named)
    for file in files:
        if not file.is_file():
            raise stated.wrong(f"{file} does not exist: name a declaration, or the folder of its declaration.py")
    return files


def _of_folders(stated: FileEntry) -> tuple[Path, ...]:
    """A folder stands for every TOML file in it."""

    def listed() -> Iterator[Path]:
        for name in _names(stated):
            path = _place(stated, name)
            found = sorted(path.glob("*.toml")) if path.is_dir() else [path]
            if not found:
                raise stated.wrong(f"{path} holds no .toml file")
            yield from found

    return tuple(dict.fromkeys(listed()))


def _one_file(stated: FileEntry) -> Path:
    if not isinstance(stated.value, str) or not stated.value:
        raise stated.wrong(f'{stated.value!r:.80} is no text: write {stated.key} = "..."')
    path = _place(stated, stated.value)
    if not path.is_file():
        raise stated.wrong(f"{path} is no file")
    return path


def _tiers(stated: FileEntry) -> tuple[str, ...]:
    """Some of those that there are, the smallest first."""
    names = _names(stated)
    for name in names:
        if name not in TIERS:
            raise stated.wrong(f"no tier is called '{name}': {near(name, TIERS)}")
    return tuple(name for name in TIERS if name in names)


KEYS: dict[str, Callable[[FileEntry], Any]] = {
    "suites": _folders,
    "load": _declarations,
    "targets": _one_file,
    "tiers": _tiers,
    "faults": _of_folders,
    "known_bugs": _files,
    "operations": _files,
    "rules": _files,
}
"""Each with what reads it; the names are those of Project."""
