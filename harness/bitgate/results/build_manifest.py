"""The manifest of a night's build: its libraries by hash, which proves that all machines ran the same ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from msgspec import Struct

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.untrusted import Count, InvalidInput, Name, Short, parse_json, read_bytes, shaped

SCHEMA = 1
KIND = "bitgate build"

HASH_LENGTH = 16
"""Digits of a library's sha256 that a verdict's fingerprint states."""


@dataclass(frozen=True)
class BuiltLibrary:
    """One library of a build: whose it is, for which target, and the hash and size (bytes) of its file.

    ``family`` is a kernel family's name, or ``host runtime``, ``native``, ``device_tools``.
    """

    family: str
    target: str
    file: str
    flavour: str
    sha256: str
    size: int
    compiler: str


@dataclass(frozen=True)
class BuildManifest:
    """The libraries of one target."""

    target: str
    commit: str
    libraries: tuple[BuiltLibrary, ...]

    def write(self, path: Path) -> None:
        """Write the manifest in one move: the whole file, or none of it."""
        document = {"schema": SCHEMA, "kind": KIND, **asdict(self)}
        write_whole(path, json.dumps(document, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> BuildManifest:
        """Read a manifest. UsageError names the file and what is wrong in it."""
        try:
            shape = shaped(_Shape, parse_json(read_bytes(path)))
            if (shape.kind, shape.schema) != (KIND, SCHEMA):
                raise InvalidInput(
                    f"'{shape.kind:.40}' of schema {shape.schema}: this bitgate reads '{KIND}' of {SCHEMA}"
                )
        except InvalidInput as error:
            raise UsageError(
                f"{path}: {error}; write it with `bitgate compile --artefacts URL --manifest FILE`"
            ) from None
        libraries = tuple(BuiltLibrary(**{name: getattr(one, name) for name in _LIBRARY}) for one in shape.libraries)
        return cls(shape.target, shape.commit, libraries)


def strangers(target: str, ran: Iterable[tuple[str, str]], built: Iterable[BuildManifest]) -> Iterator[tuple[str, str]]:
    """Yield each (family, hash) that ran on a target and is not among the libraries built for it.

    Families of which nothing was built are left out: they are not libraries, or their builds are not to be proved.
    """
    known: dict[str, set[str]] = {}
    for one in built:
        if one.target == target:
            for library in one.libraries:
                known.setdefault(library.family, set()).add(library.sha256[:HASH_LENGTH])
    for family, digest in sorted(set(ran)):
        if family in known and digest not in known[family]:
            yield family, digest


class _LibraryShape(Struct):
    family: Short
    target: Name
    file: Name
    flavour: Short
    sha256: Short
    size: Count
    compiler: Short


class _Shape(Struct):
    schema: int
    kind: str
    target: Name
    commit: Short
    libraries: list[_LibraryShape]


_LIBRARY = _LibraryShape.__struct_fields__
