"""Export of a capsule: its folder with a document that any program can run from, a loader, and a schema.

The data stay the capsule's own files: the memory of a .npy file begins where its header ends.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.kernel.build import Builder
from bitgate.tools.capsule import loader
from bitgate.tools.capsule.export_format import (
    EXPORT,
    HOST,
    LOADER,
    SCHEMA_FILE,
    BufferEntry,
    CodeObjectEntry,
    Copy,
    ExpectedOutput,
    Export,
    FixUp,
    KernelEntry,
    Memset,
    Step,
    schema,
)
from bitgate.tools.capsule.folder import Capsule
from bitgate.tools.capsule.library_symbols import LibrarySymbols
from bitgate.tools.capsule.manifest import (
    BoundsSpec,
    BufferSpec,
    ExpectedResult,
    File,
    KernelStep,
    MemsetStep,
    NanClassSpec,
)
from bitgate.tools.capsule.manifest import Step as CapsuleStep

_NPY_LENGTH = {1: (8, 2), 2: (8, 4), 3: (8, 4)}
"""Where a .npy file of each version has the length of its header, and in how many bytes."""


def export(capsule: Capsule) -> Export:
    """Write export.json, the loader and the schema into a capsule's folder, and return the document."""
    document = document_of(capsule)
    _write(capsule.folder / EXPORT, document)
    write_whole(capsule.folder / SCHEMA_FILE, (json.dumps(schema(), indent=1) + "\n").encode())
    write_whole(capsule.folder / LOADER, Path(loader.__file__).read_bytes())
    return document


def document_of(capsule: Capsule) -> Export:
    manifest = capsule.manifest
    return Export(
        format="bitgate capsule export",
        schema=1,
        case=manifest.case,
        human=manifest.human,
        kernel=f"{manifest.family}.{manifest.instance}",
        target=manifest.target,
        wave_size=manifest.wave_size,
        code_objects=tuple(CodeObjectEntry(one.file, one.sha256, one.target_id) for one in manifest.code_objects),
        buffers=tuple(_buffer(capsule, spec) for spec in manifest.buffers),
        steps=tuple(_step(step) for step in manifest.steps),
        expected=tuple(_expected(capsule, one) for one in manifest.expected),
    )


def export_for_host(capsule: Capsule, document: Export, library: Path) -> None:
    """Write host.json: the same launches of the same arguments, with the host's kernel library as the code object."""
    symbols, file = LibrarySymbols(library), library.name
    data = library.read_bytes()
    write_whole(capsule.folder / file, data)
    pairs = zip(document.steps, capsule.manifest.steps, strict=True)
    steps = [_on_host(one, recorded, symbols, file) for one, recorded in pairs]
    entry = CodeObjectEntry(file, hashlib.sha256(data).hexdigest(), "host")
    _write(capsule.folder / HOST, msgspec.structs.replace(document, code_objects=(entry,), steps=tuple(steps)))


def hip_on_host() -> tuple[Path, Path]:
    """Return the libraries by which the loader runs host.json: the host's runtime, and the module functions on it."""
    builder = Builder("host")
    return builder.runtime(), builder.host_modules()


def _on_host(step: Step, recorded: CapsuleStep, symbols: LibrarySymbols, file: str) -> Step:
    if not isinstance(step, KernelEntry) or not isinstance(recorded, KernelStep):
        return step
    places = [symbols.offset(name) for name in (step.symbol, recorded.launcher)]
    if None in places:
        raise UsageError(f"{symbols.path.name} has no {step.symbol}: the kernels have changed, write the capsule again")
    kernel, launcher = (f"{int(place or 0) % (1 << 64):x}" for place in places)
    symbol = f"{step.symbol}@{kernel}@{launcher}@{step.wave_size}"
    return msgspec.structs.replace(step, code_object=file, symbol=symbol)


def _write(path: Path, document: Export) -> None:
    text: Mapping[str, Any] = msgspec.to_builtins(document)
    write_whole(path, (json.dumps(text, indent=1) + "\n").encode())


def _buffer(capsule: Capsule, spec: BufferSpec) -> BufferEntry:
    entry = BufferEntry(spec.name, spec.role, spec.bytes, spec.alignment, pattern=spec.pattern)
    if spec.content is None:
        return entry
    return msgspec.structs.replace(entry, file=spec.content.file, at=_data_at(capsule, spec.content), pattern="")


def _expected(capsule: Capsule, one: ExpectedResult) -> ExpectedOutput:
    spec = capsule.manifest.buffer(one.buffer)
    assert spec is not None  # the folder was checked when it was opened
    compare: Any = "bits"
    if isinstance(one.tolerance, BoundsSpec):
        compare = "bounds"
    elif isinstance(one.tolerance, NanClassSpec):
        compare = "nan"
    elif _has_padding(spec):
        compare = "elements"
    return ExpectedOutput(one.buffer, one.content.file, _data_at(capsule, one.content), spec.bytes, compare)


def _has_padding(spec: BufferSpec) -> bool:
    """Return whether a buffer has bytes that belong to no element."""
    return spec.content is not None


def _step(step: CapsuleStep) -> Step:
    if isinstance(step, MemsetStep):
        return Memset(step.destination.buffer, step.destination.offset, step.value, step.bytes)
    if not isinstance(step, KernelStep):
        to, source = step.destination, step.source
        return Copy(to.buffer, to.offset, source.buffer, source.offset, step.bytes)
    kernarg = step.kernarg
    fixups = [
        FixUp(one.offset, one.target.buffer if one.target else "", one.target.offset if one.target else 0)
        for one in kernarg.pointers
    ]
    return KernelEntry(
        name=step.name,
        code_object=step.code_object,
        symbol=step.symbol,
        descriptor=step.descriptor,
        grid=step.grid,
        block=step.block,
        wave_size=step.wave_size,
        lds_dynamic=step.lds_dynamic,
        lds_static=step.lds_static,
        kernarg=kernarg.hex,
        explicit_bytes=kernarg.explicit_bytes,
        kernarg_alignment=kernarg.alignment,
        fixups=tuple(fixups),
    )


def _data_at(capsule: Capsule, file: File) -> int:
    """Return where the data of a .npy file begin."""
    with (capsule.folder / file.file).open("rb") as stream:
        head = stream.read(12)
    at, size = _NPY_LENGTH[head[6]]
    return at + size + int.from_bytes(head[at : at + size], "little")
