"""Recipes of libraries: their sources as any machine knows them, and, with a compiler, their units and the link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import bitgate
from bitgate.core.errors import UsageError
from bitgate.core.project import harness_kernels
from bitgate.kernel.build.artefact import ArtefactRequest, state_of
from bitgate.kernel.build.toolchain import Compiler
from bitgate.kernel.build.unit import Prelude, TranslationUnit
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents, sha256
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

    @property
    def compiler_line(self) -> str:
        unit = self.units[0]
        return " ".join((unit.compiler.name, *unit.flags))

    def library(self, cache: Cache, keys: Mapping[TranslationUnit, str | None]) -> Path | None:
        """Return the path of the library of these objects; None if an object is unknown."""
        objects = [keys[unit] for unit in self.units]
        if None in objects:
            return None
        key = sha256(self.compiler.kind, self.compiler.version, self.file, *self.link_flags, *map(str, objects))
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

    def wanted(self, contents: Contents) -> ArtefactRequest:
        state = state_of(self.sources, self.texts, self.folders, contents)
        return ArtefactRequest(self.label, self.file, self.target, self.flavour, state, self.folder)


def units_of(
    label: str,
    sources: Sequence[Path],
    includes: tuple[Path, ...],
    flags_: tuple[str, ...],
    compiler: Compiler,
    generated: Mapping[Path, str] | None = None,
    prelude: Prelude | None = None,
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
        )
        for source in sources
    )


def generated(declaration: KernelFamily) -> dict[Path, str]:
    """Return the texts of generated sources by the paths that the sources would have."""
    return {declaration.folder / name: text for name, text in declaration.generated.items()}


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
