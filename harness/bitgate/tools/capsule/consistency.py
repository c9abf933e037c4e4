"""Check that a manifest is possible: every range is checked before memory is allocated or a kernel is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from bitgate.core.targets import ARCHITECTURES
from bitgate.core.untrusted import is_safe
from bitgate.tools.capsule.manifest import BufferSpec, CopyStep, Kernarg, KernelStep, Manifest, MemsetStep, Place, Step

LARGEST_BUFFER = 1 << 38
LARGEST_ALIGNMENT = 1 << 21
LARGEST_BLOCK = max(row.largest_block for row in ARCHITECTURES.values())
LARGEST_GRID = (1 << 31) - 1
LARGEST_LDS = max(row.lds_bytes for row in ARCHITECTURES.values())
LARGEST_KERNARG = 1 << 16
EXPLICIT = 4096
"""Most bytes of arguments that a kernel may take (kernels/include/bitgate/launch.hpp)."""
MOST_STEPS = 100_000
POINTER = "global_buffer"
"""The kind of a pointer in a code object's metadata."""


def inconsistency(manifest: Manifest, content_bytes: Mapping[str, int]) -> str:
    """Describe what in the manifest contradicts itself, its files (bytes by buffer) or every GPU; empty if nothing
    does."""
    return next(_contradictions(manifest, content_bytes), "")


def _contradictions(manifest: Manifest, content_bytes: Mapping[str, int]) -> Iterator[str]:
    for what, name in (("target", manifest.target), ("family", manifest.family), ("instance", manifest.instance)):
        if not is_safe(name):
            yield f"{what} {name[:80]!r} is not a name"
    if manifest.seed < 0 or manifest.seed >= 1 << 63:
        yield "its seed is not a number from 0 up"
    yield from _buffers(manifest, content_bytes)
    yield from _expected(manifest)
    if not manifest.kernels:
        yield "no kernel is launched"
    if len(manifest.steps) > MOST_STEPS:
        yield f"{len(manifest.steps)} steps: at most {MOST_STEPS}"
    units = {unit.file for unit in manifest.code_objects}
    for number, step in enumerate(manifest.steps):
        for problem in _step(manifest, step, units):
            yield f"step {number} {problem}"


def _buffers(manifest: Manifest, content_bytes: Mapping[str, int]) -> Iterator[str]:
    names = [spec.name for spec in manifest.buffers]
    if len(set(names)) != len(names):
        yield "two buffers have one name"
    for spec in manifest.buffers:
        if not 0 < spec.bytes <= LARGEST_BUFFER:
            yield f"buffer {spec.name} of {spec.bytes} bytes"
        if not 0 < spec.alignment <= LARGEST_ALIGNMENT or spec.alignment & (spec.alignment - 1):
            yield f"buffer {spec.name} is aligned to {spec.alignment} bytes, no power of two up to {LARGEST_ALIGNMENT}"
        yield from _content(spec, content_bytes.get(spec.name))


def _expected(manifest: Manifest) -> Iterator[str]:
    if not manifest.expected:
        yield "no result is expected"
    names = [expected.buffer for expected in manifest.expected]
    if len(set(names)) != len(names):
        yield "two results are expected of one buffer"
    for name in names:
        buffer = manifest.buffer(name)
        if buffer is None:
            yield f"the result's buffer {name} is not among the buffers"
        elif buffer.role != "output":
            yield f"the result's buffer {name} is of role {buffer.role}"


def _content(spec: BufferSpec, content: int | None) -> Iterator[str]:
    if content is not None and content != spec.bytes:
        yield f"buffer {spec.name} has {spec.bytes} bytes, its file holds {content}"
    if content is None and not _is_hex(spec.pattern):
        yield f"buffer {spec.name} has neither content nor a pattern"


def _step(manifest: Manifest, step: Step, units: set[str]) -> Iterator[str]:
    for place, size in _places(step):
        buffer = manifest.buffer(place.buffer)
        if buffer is None:
            yield f"names buffer {place.buffer}, which does not exist"
        elif size < 0 or not 0 <= place.offset <= buffer.bytes - size:
            yield f"reaches outside of buffer {place.buffer}"
    if isinstance(step, MemsetStep) and not 0 <= step.value <= 255:
        yield f"sets bytes to {step.value}"
    if isinstance(step, KernelStep):
        if step.code_object not in units:
            yield f"names code object {step.code_object}, which does not exist"
        yield from _launch(step)
        yield from _kernarg(step.kernarg)


def _launch(step: KernelStep) -> Iterator[str]:
    if not all(0 < length <= LARGEST_GRID for length in step.grid):
        yield f"launches a grid of {step.grid}"
    if not all(0 < length <= LARGEST_BLOCK for length in step.block) or prod(step.block) > LARGEST_BLOCK:
        yield f"launches blocks of {step.block}: at most {LARGEST_BLOCK} threads"
    if min(step.lds_dynamic, step.lds_static) < 0 or step.lds_dynamic + step.lds_static > LARGEST_LDS:
        yield f"takes {step.lds_dynamic} + {step.lds_static} bytes of LDS"
    if step.wave_size not in (32, 64):
        yield f"runs in waves of {step.wave_size} lanes"


def _kernarg(kernarg: Kernarg) -> Iterator[str]:
    if not 0 <= kernarg.explicit_bytes <= min(kernarg.bytes, EXPLICIT) or kernarg.bytes > LARGEST_KERNARG:
        yield f"has {kernarg.explicit_bytes} bytes of arguments in a segment of {kernarg.bytes}"
    if (kernarg.hex and not _is_hex(kernarg.hex)) or len(kernarg.hex) != 2 * kernarg.bytes:
        yield f"is wrong: its kernarg segment is not {kernarg.bytes} bytes in hex"
        return
    end = 0
    for argument in sorted(kernarg.arguments, key=lambda argument: argument.offset):
        if argument.size <= 0 or not end <= argument.offset <= kernarg.explicit_bytes - argument.size:
            yield f"has an argument of {argument.size} bytes at {argument.offset}: outside of its segment, or in one"
        end = max(end, argument.offset + argument.size)
    data = kernarg.data
    for pointer in kernarg.pointers:
        if not 0 <= pointer.offset <= kernarg.explicit_bytes - 8:
            yield "is wrong: a pointer is outside of its arguments"
        elif any(data[pointer.offset : pointer.offset + 8]):
            yield f"has an address in its file, at byte {pointer.offset} of its segment"
    pointers = sorted(pointer.offset for pointer in kernarg.pointers)
    if pointers != sorted(argument.offset for argument in kernarg.arguments if argument.kind == POINTER):
        yield "has pointers where its arguments are none, or the other way round"


def _places(step: Step) -> list[tuple[Place, int]]:
    """Return the places that a step reaches, each with its number of bytes."""
    if isinstance(step, KernelStep):
        return [(pointer.target, 0) for pointer in step.kernarg.pointers if pointer.target is not None]
    if isinstance(step, CopyStep):
        return [(step.destination, step.bytes), (step.source, step.bytes)]
    return [(step.destination, step.bytes)]


def _is_hex(text: str) -> bool:
    try:
        return bool(bytes.fromhex(text)) and not set(text) - set("0123456789abcdefABCDEF")
    except ValueError:
        return False
