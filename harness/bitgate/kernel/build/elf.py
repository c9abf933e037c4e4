"""What ELF files say: symbols of a host library, hidden ones too, or of a code object, and a code object's notes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

_KINDS = ("STT_FUNC", "STT_OBJECT")


@dataclass(frozen=True)
class Symbol:
    """A function or object that the file defines; ``value`` is its address relative to where the file is loaded."""

    name: str
    value: int
    size: int


def symbols(data: bytes) -> tuple[Symbol, ...]:
    """Functions and objects of the full symbol table, or, in a stripped file, of the one for the dynamic linker.

    Raises ValueError for a file that is none of these.
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
    """The contents of the notes of one owner and kind. ValueError for a file that is none, or is cut."""
    try:
        for segment in _opened(data).iter_segments("PT_NOTE"):
            if segment["p_offset"] + segment["p_filesz"] > len(data):
                raise ValueError("its metadata note ends behind the file")
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
