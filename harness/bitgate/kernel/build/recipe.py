"""Recipes of libraries: their sources as any machine knows them, and, with a compiler, their units and the link."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import bitgate
from bitgate.core.errors import UsageError
from bitgate.core.project import harness_kernels
from bitgate.kernel.build.artefact import ArtefactRequest, state_of
from bitgate.kernel.build.source_unit import unit_name, unit_text
from bitgate.kernel.build.toolchain import Compiler
from bitgate.kernel.build.unit import Prelude, TranslationUnit
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents, content_of, sha256
from bitgate.kernel.declaration import KernelFamily


@dataclass(frozen=True)
class Recipe:
    """A library before it is built: units, link flags, and the folders that a shadow tree must show."""

    label: str
    file: str
    units: tuple[TranslationUnit, ...]
    link_flags: tuple[str, ...]
    compiler: Compiler
    folders: tuple[Path, ...]
    needs_runtime: bool = False
    libraries: tuple[str, ...] = ()
    """A linker's words for the user's libraries."""
    linked: tuple[Path, ...] = ()
    """The user's libraries that are files: their content is part of the key."""

    @property
    def compiler_line(self) -> str:
        unit = self.units[0]
        return " ".join((unit.compiler.name, *unit.flags))

    def library(self, cache: Cache, keys: Mapping[TranslationUnit, str | None]) -> Path | None:
        """Return the path of the library of these objects; None if an object is unknown."""
        objects = [keys[unit] for unit in self.units]
        if None in objects:
            return None
        content = [content_of(path) for path in self.linked]
        parts = (self.compiler.kind, self.compiler.version, self.file, *self.link_flags, *self.libraries, *content)
        key = sha256(*parts, *map(str, objects))
        return cache.folder / "libraries" / key[:32] / self.file


@dataclass(frozen=True)
class BuildRequest:
    """A library as far as it is known without a compiler. ``folders`` hold headers of bitgate's."""

    label: str
    file: str
    target: str
    flavour: str
    sources: tuple[Path, ...]
    texts: Mapping[Path, str]
    folders: tuple[Path, ...]
    folder: Path
    settings: tuple[str, ...] = ()
    """Flags, defines and libraries of the family."""

    def wanted(self, contents: Contents) -> ArtefactRequest:
        state = state_of(self.sources, self.texts, self.folders, contents)
        state = sha256(state, *self.settings) if self.settings else state
        return ArtefactRequest(self.label, self.file, self.target, self.flavour, state, self.folder)


def units_of(
    label: str,
    sources: Sequence[Path],
    includes: tuple[Path, ...],
    flags_: tuple[str, ...],
    compiler: Compiler,
    generated: Mapping[Path, str] | None = None,
    prelude: Prelude | None = None,
    is_translated: bool = False,
) -> tuple[TranslationUnit, ...]:
    """Return one unit for each source. UsageError if there is none, or one that is not ``generated`` is missing."""
    texts = generated or {}
    if not sources:
        raise UsageError(f"{label}: {includes[0].parent} holds no sources: reinstall bitgate, or run from a checkout")
    for source in sources:
        if source not in texts and not source.is_file():
            raise UsageError(f"{label}: source {source} does not exist")
    return tuple(
        TranslationUnit(
            f"{label} {stem(source).removeprefix(label + '_')}",
            source,
            includes,
            flags_,
            compiler,
            texts.get(source),
            prelude if source.suffix != ".S" else None,
            is_translated=is_translated,
        )
        for source in sources
    )


def sources_of(declaration: KernelFamily) -> list[Path]:
    """Return the translation units of a family; that of a ``source`` includes all that it names."""
    if declaration.source is None:
        return [declaration.folder / source for source in declaration.sources]
    for source in declaration.sources:
        if not (declaration.folder / source).is_file():
            raise UsageError(f"{declaration.name}: source {declaration.folder / source} does not exist")
    return [declaration.folder / unit_name(declaration)]


def generated(declaration: KernelFamily, target: str) -> dict[Path, str]:
    """Return the texts of generated sources for a target by the paths that the sources would have."""
    if declaration.source is not None:
        return {declaration.folder / unit_name(declaration): unit_text(declaration, target)}
    return {declaration.folder / name: text for name, text in declaration.generated.items()}


def include_folders(declaration: KernelFamily) -> tuple[Path, ...]:
    """Return the folders of a family's headers, its own first."""
    folder = declaration.folder
    return (folder, *(Path(os.path.normpath(folder / one)) for one in declaration.include_dirs))


def link_words(declaration: KernelFamily, compiler: Compiler) -> tuple[str, ...]:
    """Return a linker's words for the libraries of a family; those that are files are found where they are."""
    prefix = "-Xlinker=" if compiler.kind == "nvcc" else "-Wl,"
    words: list[str] = []
    for library in declaration.libraries:
        path = declaration.folder / library
        if not path.is_file():
            words.append(f"-l{library}")
        elif path.suffix == ".a":
            words.append(str(path))
        else:
            words += (str(path), f"{prefix}-rpath,{path.parent}")
    return tuple(words)


def linked_files(declaration: KernelFamily) -> tuple[Path, ...]:
    return tuple(path for one in declaration.libraries if (path := declaration.folder / one).is_file())


def stem(source: Path) -> str:
    """Return ``naive_conv_f16`` of ``naive_conv_f16.hip.cpp``."""
    return source.name.partition(".")[0]


def native_sources() -> tuple[tuple[Path, ...], list[Path]]:
    """Return the folders from which the native helpers include, their own first, and their files."""
    folder = Path(bitgate.__file__).resolve().parent / "numerics" / "native"
    return (folder, harness_kernels() / "include"), sorted(folder.glob("*.cpp"))


def prebuilt_library(declaration: KernelFamily) -> Path:
    """Return the prebuilt library of a family. UsageError if it does not exist."""
    path = declaration.folder / (declaration.library or "")
    if not path.is_file():
        raise UsageError(f"kernel family {declaration.name}: library {path} does not exist")
    return path
