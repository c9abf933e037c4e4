"""The contents of ``manifest.json``: everything that a loader needs, launch by launch.

The classes are its schema. Keys that they do not have are ignored: a newer writer may add some under the same schema.
Sizes, offsets and alignments are bytes; ``grid`` counts blocks, ``grid_threads`` and ``block`` threads.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

SCHEMA = 2
"""Manifests of schema 1 have one expected result instead of a list; they can still be read (folder.py)."""
MANIFEST = "manifest.json"


class File(Struct, frozen=True):
    """A file of the capsule's folder and the SHA-256 of its bytes."""

    file: str
    sha256: str


class CodeObjectFile(Struct, frozen=True):
    """One translation unit's ELF file, for hipModuleLoad. ``version`` of 5 or more has hidden arguments as listed."""

    file: str
    sha256: str
    unit: str
    target_id: str
    version: int


class TensorSpec(Struct, frozen=True):
    """The view of a buffer as a tensor: ``lengths`` and ``strides`` (in elements) of the axes that ``axes`` names."""

    dtype: str
    layout: str
    axes: str
    lengths: tuple[int, ...]
    strides: tuple[int, ...]


class BufferSpec(Struct, frozen=True):
    """A buffer in device memory, with its initial contents.

    It begins as the data of ``content`` (.npy, one axis: the memory from its first byte to its last). Where that is
    None it begins as ``pattern`` (hex, in memory order), repeated: poison, which no kernel computes.
    """

    name: str
    role: Literal["input", "output", "workspace"]
    bytes: int
    alignment: int
    content: File | None
    pattern: str
    tensor: TensorSpec | None


class Place(Struct, frozen=True):
    buffer: str
    offset: int


class ArgumentSpec(Struct, frozen=True):
    """One argument as the code object's metadata lists it."""

    offset: int
    size: int
    kind: str


class Pointer(Struct, frozen=True):
    """A pointer in an argument segment: the 8 bytes at ``offset`` are the address of ``target``; None is a null
    pointer."""

    offset: int
    target: Place | None


class HiddenArgument(Struct, frozen=True):
    """An argument that a runtime writes after the explicit arguments.

    ``value`` is in the segment already. Where it is None only a runtime can make it: ``note`` says what it is, and the
    segment holds zero.
    """

    offset: int
    size: int
    kind: str
    value: int | None
    note: str


class Kernarg(Struct, frozen=True):
    """The whole argument segment as the target's kernel reads it.

    ``hex`` has ``bytes`` bytes, zero where a pointer belongs. ``explicit_bytes`` is its part without hidden arguments.
    """

    bytes: int
    explicit_bytes: int
    alignment: int
    hex: str
    arguments: tuple[ArgumentSpec, ...]
    pointers: tuple[Pointer, ...]
    hidden: tuple[HiddenArgument, ...]

    @property
    def data(self) -> bytearray:
        return bytearray.fromhex(self.hex)


class Resources(Struct, frozen=True):
    """Resources that the code object's metadata state: registers a lane or wave, scratch a lane, and the largest
    block."""

    vgprs: int
    agprs: int
    sgprs: int
    scratch: int
    max_workgroup: int


class KernelStep(Struct, frozen=True, tag_field="kind", tag="kernel"):
    """One kernel launch.

    ``lds_static`` is in the code object already; a launch passes ``lds_dynamic``, a dispatch packet their sum.
    ``launcher`` is for bitgate itself: the function of its library that starts the kernel where no GPU runs it.
    """

    name: str
    code_object: str
    symbol: str
    descriptor: str
    grid: tuple[int, int, int]
    grid_threads: tuple[int, int, int]
    block: tuple[int, int, int]
    wave_size: int
    lds_dynamic: int
    lds_static: int
    kernarg: Kernarg
    resources: Resources
    launcher: str


class MemsetStep(Struct, frozen=True, tag_field="kind", tag="memset"):
    """A step that sets ``bytes`` bytes to ``value``."""

    name: str
    destination: Place
    value: int
    bytes: int


class CopyStep(Struct, frozen=True, tag_field="kind", tag="copy"):
    name: str
    destination: Place
    source: Place
    bytes: int


Step: TypeAlias = KernelStep | MemsetStep | CopyStep


class BoundsSpec(Struct, frozen=True, tag_field="kind", tag="bounds"):
    """A tolerance around real numbers, in logical order.

    A cell may be ``slack`` away from ``value`` (f64), or infinite of the same sign where |value| + slack exceeds
    ``largest`` (8-bit floats saturate there instead). Where ``value`` is not finite the cell is of its class. Cells of
    ``exact`` are compared by bits, those of ``open`` not at all, those of ``nan`` may be NaN as well.
    """

    value: File
    slack: File
    exact: File
    open: File
    nan: File
    largest: float


class NanClassSpec(Struct, frozen=True, tag_field="kind", tag="nan_class"):
    """A tolerance that accepts any NaN where one is expected, except ``poison``, the initial bits (hex) of the
    buffer."""

    poison: str


class ExpectedResult(Struct, frozen=True):
    """The expected contents of ``buffer`` after the last step: every bit of ``content``, except for what ``tolerance``
    allows.

    ``digest`` is bitgate's, over logical elements; empty with a tolerance. ``reference`` names what computed it.
    """

    buffer: str
    content: File
    digest: str
    reference: str
    tolerance: BoundsSpec | NanClassSpec | None


class Manifest(Struct, frozen=True):
    """The whole manifest of a capsule.

    ``steps`` run in order on one stream. ``expected`` has each output once, in the case's order. ``host_run`` is the
    result of the same launches on bitgate's host platform when the capsule was written: PASS, or what was wrong.
    """

    schema: int
    about: str
    case: str
    human: str
    ck_profiler: str
    family: str
    instance: str
    options: dict[str, str]
    fill: str
    seed: int
    target: str
    wave_size: int
    code_objects: tuple[CodeObjectFile, ...]
    buffers: tuple[BufferSpec, ...]
    steps: tuple[Step, ...]
    expected: tuple[ExpectedResult, ...]
    host_run: str

    @property
    def kernels(self) -> tuple[KernelStep, ...]:
        return tuple(step for step in self.steps if isinstance(step, KernelStep))

    @property
    def digest(self) -> str:
        """The expected digest in the form of a verdict (``digest_of``)."""
        stated = {expected.buffer: expected.digest for expected in self.expected if expected.digest}
        if len(self.expected) == 1:
            return next(iter(stated.values()), "")
        return ",".join(f"{role}={digest}" for role, digest in stated.items())

    def buffer(self, name: str) -> BufferSpec | None:
        return next((buffer for buffer in self.buffers if buffer.name == name), None)


class CapsuleDefect(Exception):
    """A defect found in a kernel family or its code object that prevents a capsule; the message names it."""
