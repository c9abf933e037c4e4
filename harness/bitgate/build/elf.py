"""Symbols of a 64-bit little-endian ELF file: a host library's own, hidden ones too, or a code object's."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_SYMTAB, _DYNSYM = 2, 11
_FUNCTION, _OBJECT = 2, 1


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
        sections = list(_sections(data))
        for kind in (_SYMTAB, _DYNSYM):
            found = [section for section in sections if section.kind == kind]
            if found:
                return tuple(symbol for table in found for symbol in _table(data, table, sections[table.link]))
        return ()
    except (struct.error, IndexError):
        raise ValueError("the ELF file is cut") from None


@dataclass(frozen=True)
class _Section:
    kind: int
    offset: int
    size: int
    link: int


def _sections(data: bytes) -> Iterator[_Section]:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", data, 40)
    entry_size, count = struct.unpack_from("<HH", data, 58)
    for index in range(count if table else 0):
        _, kind, _, _, offset, size, link = struct.unpack_from("<IIQQQQI", data, table + index * entry_size)
        yield _Section(kind, offset, size, link)


def _table(data: bytes, table: _Section, names: _Section) -> Iterator[Symbol]:
    for at in range(table.offset, table.offset + table.size, 24):
        name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", data, at)
        if section != 0 and info & 0xF in (_FUNCTION, _OBJECT):
            begin = names.offset + name
            yield Symbol(data[begin : data.index(b"\0", begin)].decode(errors="replace"), value, size)
