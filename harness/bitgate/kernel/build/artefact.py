"""A built library as a store keeps it: by what it was asked for, by which sources, and by the hash of its bytes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

from bitgate.core.project import ours, own_kernels
from bitgate.core.untrusted import Count, InvalidInput, Name, Short, parse_json, shaped
from bitgate.kernel.build import flags
from bitgate.kernel.cache.content import Contents, sha256

SCHEMA = 1
KIND = "bitgate artefact"

Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]

_TOOLCHAINS = ("/usr", "/lib", "/opt/rocm")
_TOOLCHAIN_VARIABLES = ("ROCM_PATH", "CUDA_HOME")
"""Headers there belong to a compiler, which the artefact names, and are not compared."""


@dataclass(frozen=True)
class ArtefactRequest:
    """A library as any machine can ask for it, one without a compiler too. ``state`` is the content of its sources and
    of all of our headers; ``flavour``: ``race``, ``quick`` or empty."""

    label: str
    file: str
    target: str
    flavour: str
    state: str
    folder: Path
    """What its sources reach beside those is known by its place from here."""

    @property
    def id(self) -> str:
        return sha256(self.label, self.file, self.target, self.flavour, self.state)[:32]


class Artefact(Struct, frozen=True, kw_only=True):
    """One library that was built from them, as a file of the store says."""

    schema: int = SCHEMA
    kind: str = KIND
    label: Short
    file: Name
    target: Short
    flavour: Short
    wanted: Short
    sha256: Hash
    size: Count
    compiler: Short
    """With its flags."""
    beside: dict[Short, Hash]
    """What the sources reach that ``wanted`` does not hold: an owner's headers."""
    created: Short
    """UTC, ISO 8601."""

    @property
    def place(self) -> str:
        """Of its bytes, in a store."""
        return f"libraries/{self.sha256[:2]}/{self.sha256}"

    @property
    def name(self) -> str:
        """Of its entry: the first one of equal ones comes first, wherever names are sorted."""
        stamp = re.sub(r"[^0-9TZ]", "", self.created.partition("+")[0])
        return f"{stamp}-{self.sha256[:16]}.json"

    def check(self, wanted: ArtefactRequest) -> None:
        """OddInput if it is none of what was asked for."""
        stated = (self.schema, self.kind, self.label, self.file, self.target, self.flavour, self.wanted)
        asked = (SCHEMA, KIND, wanted.label, wanted.file, wanted.target, wanted.flavour, wanted.id)
        if stated != asked:
            pairs = zip(stated, asked, strict=True)
            odd = next(f"{said!r:.80} instead of {right!r:.80}" for said, right in pairs if said != right)
            raise InvalidInput(f"it is of {odd}")

    def is_of(self, wanted: ArtefactRequest, contents: Contents) -> bool:
        """Are the other headers on this machine those that it was built from?"""
        return all(contents.of(_placed(name, wanted)) == content for name, content in self.beside.items())

    @classmethod
    def of(cls, data: bytes, wanted: ArtefactRequest) -> Artefact:
        """OddInput says why a store's file is none, or one of something else."""
        found = shaped(cls, parse_json(data))
        found.check(wanted)
        return found


def state_of(sources: Sequence[Path], texts: Mapping[Path, str], folders: Iterable[Path], contents: Contents) -> str:
    """One hash over a library's sources, those generated as texts among them, all files of these folders of ours, and
    our tables of flags."""
    parts = [str(contents.of(flags.__file__))]
    for source in sources:
        parts += [source.name, texts[source] if source in texts else str(contents.of(str(source)))]
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            parts += [f"{folder.name}/{path.relative_to(folder).as_posix()}", str(contents.of(str(path)))]
    return sha256(*parts)


def folders_of(platform: str) -> tuple[Path, ...]:
    """Whose files count for each library of a platform."""
    kernels = own_kernels()
    platforms = {"nvidia": ("nvidia", "host")}.get(platform, (platform,))
    return (kernels / "include", *(kernels / "platforms" / name for name in platforms))


def beside(
    reached: Iterable[str],
    sources: Sequence[Path],
    folders: Sequence[Path],
    wanted: ArtefactRequest,
    contents: Contents,
) -> dict[str, str]:
    """By their places: the files that a compiler read, other than its own and those that ``wanted`` is known by."""
    owned = (str(ours().root), str(wanted.folder))
    toolchains = (*_TOOLCHAINS, sys.prefix, sys.base_prefix, *filter(None, map(os.environ.get, _TOOLCHAIN_VARIABLES)))
    rest = {path for path in reached if not _below(path, map(str, folders))} - set(map(str, sources))
    others = {path for path in rest if _below(path, owned) or not _below(path, toolchains)}
    found = {_name(path, wanted): contents.of(path) for path in sorted(others)}
    return {name: content for name, content in found.items() if content is not None}


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _name(path: str, wanted: ArtefactRequest) -> str:
    root = ours().root
    if _below(path, [str(root)]):
        return f"{{root}}/{os.path.relpath(path, root)}"
    return os.path.relpath(path, wanted.folder)


def _placed(name: str, wanted: ArtefactRequest) -> str:
    if name.startswith("{root}/"):
        return os.path.normpath(ours().root / name.removeprefix("{root}/"))
    return os.path.normpath(wanted.folder / name)
