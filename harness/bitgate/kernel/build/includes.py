"""What C++ sources are made of: a library's translation units, each with every file that it includes, through others or
not. Nothing is compiled, so an include behind an ``#if`` counts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bitgate.core.project import own_kernels

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)


class Library(Protocol):
    """What is asked of a kernel family."""

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
    """A translation unit: of which family, its name (``grouped_fwd_f16``), and the files that decide its object."""

    family: str
    name: str
    files: frozenset[Path]


def places(platform: str = "host") -> tuple[Path, ...]:
    """Where bitgate's headers lie that kernels of a platform are compiled with. All share the host's declarations."""
    kernels = own_kernels().resolve()
    names = dict.fromkeys((platform, "host"))
    return (kernels / "include", *(kernels / "platforms" / name / "include" for name in names))


class Includes:
    """Follows includes. An include is looked for in all places that it could be meant for, and each file that is there
    counts. ``gone`` were there before: what would have found them is made of them, too."""

    def __init__(self, gone: Collection[Path] = (), where: tuple[Path, ...] | None = None) -> None:
        self._gone = frozenset(gone)
        self._where = places() if where is None else where
        self._names: dict[Path, tuple[str, ...]] = {}

    def units(self, library: Library) -> tuple[FamilyUnit, ...]:
        """Every translation unit, generated ones too. A prebuilt library has none."""
        folder = library.folder.resolve()
        return tuple(
            FamilyUnit(
                library.name, source.partition(".")[0], self._unit(folder, source, library.generated.get(source))
            )
            for source in library.sources
        )

    def closure(self, files: Iterable[Path], folder: Path) -> frozenset[Path]:
        """The files and all that they include; ``folder`` is where else headers are looked for."""
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


def families_reached(file: Path, families: Iterable[Library], where: tuple[Path, ...] | None = None) -> tuple[str, ...]:
    """Names of the families whose libraries are another once ``file`` is edited. Empty if no family includes it: a
    source of the runtime, or of tools."""
    includes, wanted = Includes(where=where), file.resolve()
    return tuple(family.name for family in families if any(wanted in unit.files for unit in includes.units(family)))
