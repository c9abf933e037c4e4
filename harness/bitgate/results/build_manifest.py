"""What was built for a night, by hash: the proof that all of its machines ran the same libraries."""

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
"""Of a library's sha256, what a verdict's fingerprint states."""


@dataclass(frozen=True)
class BuiltLibrary:
    """``family`` is a kernel family's name, or ``host runtime``, ``native``, ``device_tools``; ``target`` is what its
    code is for, ``size`` in bytes."""

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
        """The whole file or none of it."""
        document = {"schema": SCHEMA, "kind": KIND, **asdict(self)}
        write_whole(path, json.dumps(document, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> BuildManifest:
        """UsageError names the file and what is wrong in it."""
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
    """Of the (family, hash) that ran on a target those that are none of what was built of the family for it. A family
    of which nothing was built is no library, or nobody's to prove."""
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
