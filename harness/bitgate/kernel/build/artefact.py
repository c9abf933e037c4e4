"""Artefacts: built libraries as a store keeps them, known by request, sources and the hash of their bytes."""

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
"""Places of compilers. Their headers are not compared, since an artefact names its compiler."""


@dataclass(frozen=True)
class ArtefactRequest:
    """A library as any machine can ask for it, even one without a compiler.

    ``state`` is the content of its sources and of all headers of bitgate's; ``flavour`` is ``race``, ``quick`` or
    empty.
    """

    label: str
    file: str
    target: str
    flavour: str
    state: str
    folder: Path
    """Other files that its sources include are named relative to this folder."""

    @property
    def id(self) -> str:
        return sha256(self.label, self.file, self.target, self.flavour, self.state)[:32]


class Artefact(Struct, frozen=True, kw_only=True):
    """One built library, as a file of the store describes it."""

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
    """Name, version and flags of the compiler."""
    beside: dict[Short, Hash]
    """Hashes of the included files that ``wanted`` does not cover: a user's headers."""
    created: Short
    """UTC, ISO 8601."""

    @property
    def place(self) -> str:
        """The name of its bytes in a store."""
        return f"libraries/{self.sha256[:2]}/{self.sha256}"

    @property
    def name(self) -> str:
        """The name of its entry; of equal artefacts the oldest sorts first."""
        stamp = re.sub(r"[^0-9TZ]", "", self.created.partition("+")[0])
        return f"{stamp}-{self.sha256[:16]}.json"

    def check(self, wanted: ArtefactRequest) -> None:
        """Raise InvalidInput if it is not what was requested."""
        stated = (self.schema, self.kind, self.label, self.file, self.target, self.flavour, self.wanted)
        asked = (SCHEMA, KIND, wanted.label, wanted.file, wanted.target, wanted.flavour, wanted.id)
        if stated != asked:
            pairs = zip(stated, asked, strict=True)
            odd = next(f"{said!r:.80} instead of {right!r:.80}" for said, right in pairs if said != right)
            raise InvalidInput(f"it is of {odd}")

    def is_of(self, wanted: ArtefactRequest, contents: Contents) -> bool:
        """Return whether the other headers on this machine are those that it was built from."""
        return all(contents.of(_placed(name, wanted)) == content for name, content in self.beside.items())

    @classmethod
    def of(cls, data: bytes, wanted: ArtefactRequest) -> Artefact:
        """Read an entry of a store. InvalidInput if it is no artefact, or not the requested one."""
        found = shaped(cls, parse_json(data))
        found.check(wanted)
        return found


def state_of(sources: Sequence[Path], texts: Mapping[Path, str], folders: Iterable[Path], contents: Contents) -> str:
    """Return one hash over a library's sources (files and generated texts), all files of ``folders``, and the flags."""
    parts = [str(contents.of(flags.__file__)), os.environ.get(flags.SANITIZE, "")]
    for source in sources:
        parts += [source.name, texts[source] if source in texts else str(contents.of(str(source)))]
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            parts += [f"{folder.name}/{path.relative_to(folder).as_posix()}", str(contents.of(str(path)))]
    return sha256(*parts)


def folders_of(platform: str) -> tuple[Path, ...]:
    """Return the folders whose files count for every library of a platform."""
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
    """Return the hashes of the files that a compiler read, without its own headers and those that ``wanted`` covers."""
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
