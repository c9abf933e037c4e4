"""The documents of an exported capsule: ``export.json`` for whoever runs it, ``results.json`` for what came back.

The classes are the schema (``export.schema.json``). Sizes and offsets are bytes, integers of more than one byte are
little-endian, ``grid`` counts blocks and ``block`` threads. Readers ignore keys that they do not know.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from bitgate.core.untrusted import Count, Name, Short, Text

EXPORT, SCHEMA_FILE, RESULTS, LOADER = "export.json", "export.schema.json", "results.json", "loader.py"
HOST = "host.json"
"""The same launches for the host's HIP runtime, whose code object is a kernel library."""

Bytes = Annotated[int, Meta(ge=0)]


class CodeObjectEntry(Struct, frozen=True):
    """A file for hipModuleLoad."""

    file: Name
    sha256: Short
    target_id: Short


class BufferEntry(Struct, frozen=True):
    """Device memory of ``bytes`` bytes. It begins as the bytes of ``file`` from ``at`` on; without a file as
    ``pattern`` (hex), repeated."""

    name: Name
    role: Literal["input", "output", "workspace"]
    bytes: Bytes
    alignment: Bytes
    file: str = ""
    at: Bytes = 0
    pattern: Short = ""


class FixUp(Struct, frozen=True):
    """The 8 bytes at ``offset`` of the kernarg segment are the address of ``buffer`` plus ``add``; a null pointer
    where there is no buffer."""

    offset: Bytes
    buffer: str
    add: Bytes


class KernelEntry(Struct, frozen=True, tag_field="kind", tag="kernel"):
    """One launch. ``kernarg`` is the whole segment in hex, zero where a fix-up belongs. Its first ``explicit_bytes``
    are what hipModuleLaunchKernel takes; a dispatch packet needs the hidden arguments after them, too."""

    name: Text
    code_object: Name
    symbol: Text
    descriptor: Text
    grid: tuple[Count, Count, Count]
    block: tuple[Count, Count, Count]
    wave_size: Count
    lds_dynamic: Bytes
    lds_static: Bytes
    kernarg: str
    explicit_bytes: Bytes
    kernarg_alignment: Bytes
    fixups: tuple[FixUp, ...]


class Memset(Struct, frozen=True, tag_field="kind", tag="memset"):
    """A step that sets ``bytes`` bytes of a buffer to ``value``."""

    buffer: Name
    offset: Bytes
    value: Count
    bytes: Bytes


class Copy(Struct, frozen=True, tag_field="kind", tag="copy"):
    """A step that copies ``bytes`` bytes from one buffer to another."""

    buffer: Name
    offset: Bytes
    source: Name
    source_offset: Bytes
    bytes: Bytes


Step: TypeAlias = KernelEntry | Memset | Copy


class ExpectedOutput(Struct, frozen=True):
    """An output's memory after the last step: the bytes of ``file`` from ``at`` on.

    ``compare``: ``bits`` if each byte must be equal, ``elements`` if bytes between the elements may differ, ``bounds``
    and ``nan`` if the elements are held to what manifest.json states: bitgate capsule check judges all of them.
    """

    buffer: Name
    file: Name
    at: Bytes
    bytes: Bytes
    compare: Literal["bits", "elements", "bounds", "nan"]


class Export(Struct, frozen=True):
    """export.json: allocate and fill the buffers, run the steps in order on one stream, and bring back the outputs."""

    format: Literal["bitgate capsule export"]
    schema: Literal[1]
    case: Name
    human: Text
    kernel: Text
    target: Name
    wave_size: Count
    code_objects: tuple[CodeObjectEntry, ...]
    buffers: tuple[BufferEntry, ...]
    steps: tuple[Step, ...]
    expected: tuple[ExpectedOutput, ...]


class ReturnedOutput(Struct, frozen=True):
    """The bytes of an output's buffer after the last step."""

    buffer: Name
    file: Name


class Results(Struct, frozen=True):
    """results.json: what a run brought back, and ``by`` what it ran. ``failed`` says why it did not come to its end.

    ``document`` is the SHA-256 (hex) of the export.json that it ran: results of an older one are none of this one's.
    """

    format: Literal["bitgate capsule results"]
    schema: Literal[1]
    case: Name
    kernel: Text
    target: Name
    by: Short
    document: Short
    outputs: tuple[ReturnedOutput, ...] = ()
    failed: Text = ""


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of both documents."""
    (_, results), parts = msgspec.json.schema_components([Export, Results], ref_template="#/$defs/{name}")
    found: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"{EXPORT} is an Export, {RESULTS} a Results",
        "oneOf": [{"$ref": "#/$defs/Export"}, results],
        "$defs": parts,
    }
    return found
