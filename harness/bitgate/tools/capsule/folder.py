"""A capsule's folder: written whole or not at all, and checked in every part when it is opened."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, to_builtins
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.untrusted import InvalidInput, is_safe, parse_json, read_bytes, safe_name, shaped
from bitgate.tools.capsule.consistency import inconsistency
from bitgate.tools.capsule.manifest import MANIFEST, SCHEMA, BufferSpec, CodeObjectFile, File, Manifest

LONGEST = 256 << 20
"""Most bytes of a manifest: a few thousand launches."""


def file_entry(file: str, data: bytes) -> File:
    return File(file, hashlib.sha256(data).hexdigest())


def npy(array: NDArray[Any]) -> bytes:
    """Return the bytes of a .npy file.

    Types that numpy does not define (bf16, f8) are saved as unsigned integers of their bits: a reader would not know
    their names (<f1).
    """
    if array.dtype.isbuiltin != 1:
        array = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    stream = io.BytesIO()
    np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def write(folder: Path, manifest: Manifest, files: Mapping[str, bytes]) -> None:
    """Write a capsule and replace an older one. The manifest comes last, so that a folder with a manifest is whole."""
    for name in files:
        safe_name(name, f"{folder}: a file of the capsule")
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / MANIFEST).is_symlink() or (folder / MANIFEST).exists():
        _remove(folder)
    for name, data in files.items():
        write_whole(folder / name, data)
    write_whole(folder / MANIFEST, (json.dumps(to_builtins(manifest), indent=1) + "\n").encode())


def put_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, each whole or not at all; those of the same names are replaced, others stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_whole(folder / safe_name(name, f"{folder}: a file of the capsule"), data)


def _remove(folder: Path) -> None:
    """Remove the old capsule's files: those with the bytes that its manifest states.

    Other files of the folder stay, and nothing outside of it is touched, whatever that manifest says.
    """
    try:
        old = [file for file in _files(_read(folder)) if is_safe(file.file)]
    except UsageError:
        old = []
    (folder / MANIFEST).unlink()
    for file in old:
        path = folder / file.file
        if path.is_file() and not path.is_symlink() and hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256:
            path.unlink()


@dataclass(frozen=True)
class Capsule:
    """An opened capsule: every file exists with the bytes that the manifest states."""

    folder: Path
    manifest: Manifest

    def array(self, file: File) -> NDArray[Any]:
        """Return the data of a .npy file."""
        path = self.folder / file.file
        try:
            array: NDArray[Any] = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
            if array.dtype.kind not in "fiu":
                raise ValueError(f"elements of type {array.dtype}")
        except (ValueError, EOFError, OverflowError, MemoryError, SyntaxError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}: not a .npy file of numbers: {str(error)[:200]}") from None
        return array

    @cached_property
    def contents(self) -> dict[str, NDArray[Any]]:
        """The data of the buffers that begin with a file's."""
        return {spec.name: self.array(spec.content) for spec in self.manifest.buffers if spec.content is not None}


def open_capsule(folder: Path) -> Capsule:
    """Open and check a capsule.

    Raises UsageError with the file and what is wrong with it, unless everything is there as it was written.
    """
    manifest = _read(folder)
    for file in _files(manifest):
        path = folder / safe_name(file.file, f"{folder / MANIFEST}: a file of the capsule")
        if not path.is_file() or path.is_symlink():
            raise UsageError(f"{path} is missing, or not a file of the folder: the capsule is not whole")
        if hashlib.sha256(path.read_bytes()).hexdigest() != file.sha256:
            raise UsageError(f"{path} has changed since the capsule was written (its SHA-256 is another)")
    capsule = Capsule(folder, manifest)
    problem = inconsistency(manifest, {name: array.nbytes for name, array in capsule.contents.items()})
    if problem:
        raise UsageError(f"{folder / MANIFEST}: {problem}")
    return capsule


def _read(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise UsageError(f"{folder} holds no capsule: there is no {MANIFEST} in it")
    try:
        document = parse_json(read_bytes(path, LONGEST))
    except InvalidInput as error:
        raise UsageError(f"{path} cannot be read, is it cut? {error}") from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == 1:
        document = _upgraded(document)
    elif schema != SCHEMA:
        raise UsageError(f"{path}: schema {schema!r:.40}, this bitgate reads 1 and {SCHEMA}: write the capsule again")
    try:
        return shaped(Manifest, document)
    except InvalidInput as error:
        raise UsageError(f"{path}: {error}") from None


def _upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """Convert a manifest of schema 1, which had one result, to schema 2."""
    expected = {"expected": [document["expected"]]} if "expected" in document else {}
    return {**document, **expected, "schema": SCHEMA}


def _files(value: Any) -> Iterator[File | CodeObjectFile]:
    """Yield every file that a manifest names."""
    if isinstance(value, (File, CodeObjectFile)):
        yield value
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _files(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _files(item)


__all__ = ["BufferSpec", "Capsule", "file_entry", "npy", "open_capsule", "write"]
