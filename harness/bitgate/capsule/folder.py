"""A capsule's folder: written whole or not at all, and checked in every part when it is opened."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.capsule.document import DocumentError, from_json, to_json
from bitgate.capsule.manifest import (
    MANIFEST,
    SCHEMA,
    BufferSpec,
    CodeObject,
    File,
    KernelStep,
    Manifest,
    MemsetStep,
    Place,
)
from bitgate.errors import UsageError


def named(file: str, data: bytes) -> File:
    return File(file, hashlib.sha256(data).hexdigest())


def npy(array: NDArray[Any]) -> bytes:
    """The bytes of a .npy file. Types that numpy does not know (bf16, f8) are saved as unsigned integers of their
    bits."""
    if array.dtype.kind not in "fiu":
        array = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    stream = io.BytesIO()
    np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def write(folder: Path, manifest: Manifest, files: Mapping[str, bytes]) -> None:
    """Write a capsule. One that stands there is replaced; the manifest comes last, so that what has one is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / MANIFEST).exists():
        _remove(folder)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / MANIFEST).write_text(json.dumps(to_json(manifest), indent=1) + "\n")


def _remove(folder: Path) -> None:
    """The old capsule's own files; whatever else lies in the folder stays."""
    try:
        old = [file.file for file in _files(_read(folder))]
    except UsageError:
        old = []
    (folder / MANIFEST).unlink()
    for name in old:
        (folder / name).unlink(missing_ok=True)


@dataclass(frozen=True)
class Capsule:
    """An opened capsule: every file is there with the bytes that the manifest states."""

    folder: Path
    manifest: Manifest

    def array(self, file: File) -> NDArray[Any]:
        """The data of a .npy file."""
        path = self.folder / file.file
        try:
            array: NDArray[Any] = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise UsageError(f"{path}: not a .npy file: {error}") from None
        return array

    @cached_property
    def contents(self) -> dict[str, NDArray[Any]]:
        """The data of the buffers that begin with a file's."""
        return {spec.name: self.array(spec.content) for spec in self.manifest.buffers if spec.content is not None}


def open_capsule(folder: Path) -> Capsule:
    """UsageError with the file and what is wrong with it, unless everything is there as it was written."""
    manifest = _read(folder)
    for file in _files(manifest):
        path = folder / file.file
        if Path(file.file).name != file.file:
            raise UsageError(f"{folder / MANIFEST}: '{file.file}' is not the name of a file beside it")
        if not path.is_file():
            raise UsageError(f"{path} is missing: the capsule is not whole")
        if hashlib.sha256(path.read_bytes()).hexdigest() != file.sha256:
            raise UsageError(f"{path} has changed since the capsule was written (its SHA-256 is another)")
    capsule = Capsule(folder, manifest)
    problem = _inconsistency(capsule)
    if problem:
        raise UsageError(f"{folder / MANIFEST}: {problem}")
    return capsule


def _read(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise UsageError(f"{folder} holds no capsule: there is no {MANIFEST} in it")
    try:
        document = json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read, is it cut? {error}") from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise UsageError(f"{path}: schema {schema!r}, this bitgate reads {SCHEMA}: write the capsule again")
    try:
        return from_json(Manifest, document)
    except DocumentError as error:
        raise UsageError(f"{path}: {error}") from None


def _files(value: Any) -> Iterator[File | CodeObject]:
    """Every file that a manifest names."""
    if isinstance(value, (File, CodeObject)):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from _files(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _files(item)


def _inconsistency(capsule: Capsule) -> str:
    """What in the manifest contradicts itself or its files; empty if nothing does."""
    manifest = capsule.manifest
    for spec in manifest.buffers:
        content = capsule.contents.get(spec.name)
        if content is not None and content.nbytes != spec.bytes:
            return f"buffer {spec.name} has {spec.bytes} bytes, its file holds {content.nbytes}"
        if content is None and not _is_hex(spec.pattern):
            return f"buffer {spec.name} has neither content nor a pattern"
    if manifest.buffer(manifest.expected.buffer) is None:
        return f"the result's buffer {manifest.expected.buffer} is not among the buffers"
    if not manifest.kernels:
        return "no kernel is launched"
    units = {unit.file for unit in manifest.code_objects}
    for number, step in enumerate(manifest.steps):
        for place, size in _places(step):
            buffer = manifest.buffer(place.buffer)
            if buffer is None:
                return f"step {number} names buffer {place.buffer}, which is not there"
            if not 0 <= place.offset <= buffer.bytes - size:
                return f"step {number} reaches outside of buffer {place.buffer}"
        if isinstance(step, KernelStep):
            if step.code_object not in units:
                return f"step {number} names code object {step.code_object}, which is not there"
            kernarg = step.kernarg
            if not _is_hex(kernarg.hex) or len(kernarg.data) != kernarg.bytes:
                return f"step {number}: its kernarg segment is not {kernarg.bytes} bytes in hex"
            if any(not 0 <= pointer.offset <= kernarg.bytes - 8 for pointer in kernarg.pointers):
                return f"step {number}: a pointer lies outside of its kernarg segment"
    return ""


def _places(step: Any) -> list[tuple[Place, int]]:
    """Where a step reaches, and how many bytes from there."""
    if isinstance(step, KernelStep):
        return [(pointer.target, 0) for pointer in step.kernarg.pointers if pointer.target is not None]
    if isinstance(step, MemsetStep):
        return [(step.destination, step.bytes)]
    return [(step.destination, step.bytes), (step.source, step.bytes)]


def _is_hex(text: str) -> bool:
    try:
        return bool(bytes.fromhex(text))
    except ValueError:
        return False


__all__ = ["BufferSpec", "Capsule", "named", "npy", "open_capsule", "write"]
