"""AMDGPU code objects and other ELF files, read without ROCm's tools: kernels, symbols and notes.

The kernels of a code object are in the metadata note of its ELF file. The note is msgpack: a map whose
``amdhsa.kernels`` lists one map for each kernel (LLVM's AMDGPU usage guide, code object v3 and later).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from msgspec import MsgspecError
from msgspec.msgpack import decode

from bitgate.core.errors import UsageError
from bitgate.core.targets import runs_on

_KINDS = ("STT_FUNC", "STT_OBJECT")


@dataclass(frozen=True)
class Symbol:
    """A function or object that an ELF file defines; ``value`` is its address relative to where the file is loaded."""

    name: str
    value: int
    size: int


def symbols(data: bytes) -> tuple[Symbol, ...]:
    """List functions and objects of the full symbol table, or, in a stripped file, of the dynamic linker's.

    ValueError if the data is no ELF file.
    """
    try:
        file = _opened(data)
        for kind in ("SHT_SYMTAB", "SHT_DYNSYM"):
            if found := [section for section in file.iter_sections() if section["sh_type"] == kind]:
                return tuple(_symbol(one) for table in found for one in table.iter_symbols() if _is_defined(one))
        return ()
    except (ELFError, struct.error, IndexError, TypeError, AttributeError):
        raise ValueError("the ELF file is cut") from None


def notes(data: bytes, owner: str, kind: int) -> Iterator[bytes]:
    """Yield the contents of the notes of one owner and kind. ValueError if the data is no ELF file, or is cut."""
    try:
        for segment in _opened(data).iter_segments("PT_NOTE"):
            if segment["p_offset"] + segment["p_filesz"] > len(data):
                raise ValueError("its metadata note ends after the file")
            for note in segment.iter_notes():
                if (note["n_name"], note["n_type"]) == (owner, kind):
                    yield note["n_descdata"]
    except (ELFError, struct.error, IndexError, TypeError, AttributeError, UnicodeError):
        raise ValueError("the ELF file is cut") from None


def _opened(data: bytes) -> Any:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    return ELFFile(BytesIO(data))


def _is_defined(symbol: Any) -> bool:
    return symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["type"] in _KINDS


def _symbol(symbol: Any) -> Symbol:
    return Symbol(symbol.name, symbol["st_value"], symbol["st_size"])


_NOTE_OWNER = "AMDGPU"
_NOTE_METADATA = 32
_ABI_VERSION = 8
"""Offset of the ABI version in the ELF header; code object v3 to v6 count from 1."""
_VERSIONS = {1: 3, 2: 4, 3: 5, 4: 6}
_BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"


@dataclass(frozen=True)
class Argument:
    """One kernel argument: its place in the argument block, in bytes, and what it is.

    ``kind`` is ``by_value``, ``global_buffer`` (a device pointer), or ``hidden_...`` for what the runtime adds.
    """

    offset: int
    size: int
    kind: str

    @property
    def is_hidden(self) -> bool:
        return self.kind.startswith("hidden_")

    @property
    def is_pointer(self) -> bool:
        return self.kind == "global_buffer"


@dataclass(frozen=True)
class KernelCode:
    """The resources and arguments of one kernel. Sizes are bytes: ``lds`` for a block, ``scratch`` for a lane.

    Spills count registers: ``vgpr_spills`` went to scratch, ``sgpr_spills`` to lanes of vector registers first.

    ``vgprs`` includes ``agprs`` where both share one file (gfx90a and later of gfx9). ``descriptor`` is the symbol to
    which a dispatch packet points.
    """

    symbol: str
    arguments: tuple[Argument, ...]
    kernarg_bytes: int
    lds: int
    scratch: int
    wavefront: int
    max_workgroup: int
    vgprs: int
    sgprs: int
    agprs: int
    vgpr_spills: int
    sgpr_spills: int
    descriptor: str
    kernarg_alignment: int

    @property
    def function(self) -> str:
        """The function's name without namespaces and template arguments: ``kernel_flat``."""
        return function_name(self.symbol)

    @property
    def explicit(self) -> tuple[Argument, ...]:
        """The arguments that a launch passes, in order."""
        return tuple(argument for argument in self.arguments if not argument.is_hidden)

    @property
    def explicit_bytes(self) -> int:
        """Bytes of the argument block up to the end of the last argument that a launch passes."""
        return max((argument.offset + argument.size for argument in self.explicit), default=0)


@dataclass(frozen=True)
class CodeObject:
    """The kernels of a code object for a gfx target (``gfx942``, without features).

    ``target_id`` is the note's triple and target; ``version`` the code object version, which decides where hidden
    arguments are, 0 if unknown.
    """

    target: str
    kernels: tuple[KernelCode, ...]
    target_id: str
    version: int

    def kernel(self, symbol: str) -> KernelCode | None:
        return next((kernel for kernel in self.kernels if kernel.symbol == symbol), None)


def read(path: Path) -> CodeObject:
    """Read the code object in a file. UsageError if it is none."""
    return parse(path.read_bytes(), str(path))


def bundled(data: bytes, target: str) -> list[bytes]:
    """Return the code objects for a target in a library that a HIP compiler linked, one for each translation unit.

    Empty if the library holds none, or compressed ones (``--offload-compress``).
    """
    found: list[bytes] = []
    start = data.find(_BUNDLE)
    while start >= 0:
        at = start + len(_BUNDLE)
        (count,) = struct.unpack_from("<Q", data, at)
        at += 8
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", data, at)
            name = data[at + 24 : at + 24 + length].decode(errors="replace")
            at += 24 + length
            entry = re.fullmatch(r"hip(?:v4)?-amdgcn-amd-amdhsa-[^-]*-(.+)", name)
            if entry and size and runs_on(entry[1], target):
                found.append(data[start + offset : start + offset + size])
        start = data.find(_BUNDLE, start + 1)
    return found


def parse(data: bytes, name: str = "code object") -> CodeObject:
    """Parse a code object. UsageError with ``name`` says why it is none."""
    try:
        found = [decode(content) for content in notes(data, _NOTE_OWNER, _NOTE_METADATA)]
        if not found:
            raise ValueError("no AMDGPU metadata note")
        target_id = str(found[0]["amdhsa.target"])
        target = target_id.split("-", 4)[4].partition(":")[0]
        kernels = tuple(_kernel(entry) for note in found for entry in note.get("amdhsa.kernels", []))
    except (MsgspecError, ValueError, KeyError, TypeError, IndexError, struct.error) as error:
        raise UsageError(f"{name} is no AMDGPU code object that bitgate can read: {error}") from None
    return CodeObject(target, kernels, target_id, _VERSIONS.get(data[_ABI_VERSION], 0))


def function_name(symbol: str) -> str:
    """Return the name of a symbol's function without namespaces and template arguments."""
    rest, name = symbol.removeprefix("_Z").removeprefix("N"), symbol
    while word := re.match(r"\d+", rest):
        end = word.end() + int(word[0])
        name, rest = rest[word.end() : end], rest[end:]
    return name


def _kernel(entry: dict[str, Any]) -> KernelCode:
    return KernelCode(
        symbol=entry[".name"],
        arguments=tuple(Argument(a[".offset"], a[".size"], a[".value_kind"]) for a in entry.get(".args", [])),
        kernarg_bytes=entry[".kernarg_segment_size"],
        lds=entry[".group_segment_fixed_size"],
        scratch=entry[".private_segment_fixed_size"],
        wavefront=entry[".wavefront_size"],
        max_workgroup=entry[".max_flat_workgroup_size"],
        vgprs=entry[".vgpr_count"],
        sgprs=entry[".sgpr_count"],
        agprs=entry.get(".agpr_count", 0),
        vgpr_spills=entry.get(".vgpr_spill_count", 0),
        sgpr_spills=entry.get(".sgpr_spill_count", 0),
        descriptor=entry.get(".symbol", entry[".name"] + ".kd"),
        kernarg_alignment=entry.get(".kernarg_segment_align", 8),
    )
