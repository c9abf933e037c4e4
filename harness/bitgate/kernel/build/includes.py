"""Includes of C++ sources: a library's translation units, each with every file that it includes, directly or not.

Nothing is compiled, so an include inside of an ``#if`` counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bitgate.core.project import own_kernels

MOST_TEXT = 16 << 20
"""The bytes of a source of unknown authors."""
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)


class Library(Protocol):
    """The facts about a kernel family that its includes follow from."""

    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> Path: ...
    @property
    def sources(self) -> tuple[str, ...]: ...
    @property
    def generated(self) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class FamilyUnit:
    """A translation unit of a family: its name (``grouped_fwd_f16``), and the files that decide its object."""

    family: str
    name: str
    files: frozenset[Path]


def places(platform: str = "host") -> tuple[Path, ...]:
    """Return the folders of bitgate's headers for kernels of a platform; all share the host's declarations."""
    kernels = own_kernels().resolve()
    names = dict.fromkeys((platform, "host"))
    return (kernels / "include", *(kernels / "platforms" / name / "include" for name in names))


class Includes:
    """A follower of includes, which looks for each in all places that it could mean; every file that exists counts.

    ``gone`` are files that existed before: an include that would have found one counts, too.
    """

    def __init__(self, gone: Collection[Path] = (), where: tuple[Path, ...] | None = None) -> None:
        self._gone = frozenset(gone)
        self._where = places() if where is None else where
        self._names: dict[Path, tuple[str, ...]] = {}

    def units(self, library: Library) -> tuple[FamilyUnit, ...]:
        """Return every translation unit, generated ones too. A prebuilt library has none."""
        folder = library.folder.resolve()
        return tuple(
            FamilyUnit(
                library.name, source.partition(".")[0], self._unit(folder, source, library.generated.get(source))
            )
            for source in library.sources
        )

    def closure(self, files: Iterable[Path], folder: Path) -> frozenset[Path]:
        """Return the files and all that they include; ``folder`` is a further place of headers."""
        found: set[Path] = set()
        waiting = list(files)
        while waiting:
            path = waiting.pop()
            if path in found or not (path in self._gone or path.is_file()):
                continue
            found.add(path)
            waiting += self._found(self._included(path), (path.parent, folder))
        return frozenset(found)

    def _unit(self, folder: Path, source: str, text: str | None) -> frozenset[Path]:
        if text is None:
            return self.closure([(folder / source).resolve()], folder)
        return self.closure(self._found(_INCLUDE.findall(text), (folder,)), folder)

    def _included(self, path: Path) -> tuple[str, ...]:
        if path not in self._names:
            text = path.read_text(errors="replace") if path.is_file() else ""
            self._names[path] = tuple(_INCLUDE.findall(text))
        return self._names[path]

    def _found(self, names: Iterable[str], beside: tuple[Path, ...]) -> Iterator[Path]:
        for name in names:
            for place in (*beside, *self._where):
                path = place / name
                if ".." in path.parts:
                    path = path.resolve()
                if path in self._gone or path.is_file():
                    yield path


def odd_file(sources: Iterable[Path], folders: Sequence[Path]) -> Path | None:
    """Return a file that sources include, directly or not, from one of the folders or by its absolute path, which is no
    regular file of at most MOST_TEXT bytes: a compiler reads a device, or waits for a pipe, without end."""
    seen: set[Path] = set()
    waiting = list(sources)
    while waiting:
        path = waiting.pop()
        if path in seen or path.is_dir() or not path.exists():
            continue
        seen.add(path)
        if not path.is_file() or path.stat().st_size > MOST_TEXT:
            return path
        names = _INCLUDE.findall(path.read_text(errors="replace"))
        waiting += [Path(os.path.normpath(place / name)) for name in names for place in (path.parent, *folders)]
    return None


class FamiliesByFile:
    """The families whose libraries change once a file is edited; the includes of each are followed once."""

    def __init__(self, families: Iterable[Library], where: tuple[Path, ...] | None = None) -> None:
        includes = Includes(where=where)
        self._files = {
            family.name: frozenset(path for unit in includes.units(family) for path in unit.files)
            for family in families
        }

    def of(self, file: Path) -> tuple[str, ...]:
        """Return the families' names. None if no family includes the file: a source of the runtime, or of tools."""
        wanted = file.resolve()
        return tuple(name for name, files in self._files.items() if wanted in files)
