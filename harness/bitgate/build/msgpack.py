"""Decodes MessagePack, as far as code objects use it: maps, arrays, strings, integers, booleans, nil."""

from __future__ import annotations

import struct
from typing import Any

_SCALARS = {0xC0: None, 0xC2: False, 0xC3: True}
_INTEGERS = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_STRINGS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_ARRAYS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}


def decode(data: bytes) -> Any:
    """The one value that ``data`` holds; ValueError if it is cut, longer than the value, or of another type."""
    reader = _Reader(data)
    value = reader.value()
    if reader.at != len(data):
        raise ValueError(f"msgpack: {len(data) - reader.at} bytes behind the value")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def value(self) -> Any:
        tag = self._take(1)[0]
        if tag <= 0x7F:
            return tag
        if tag >= 0xE0:
            return tag - 0x100
        if tag <= 0x8F:
            return self._map(tag & 0x0F)
        if tag <= 0x9F:
            return self._array(tag & 0x0F)
        if tag <= 0xBF:
            return self._string(tag & 0x1F)
        if tag in _SCALARS:
            return _SCALARS[tag]
        if tag in _INTEGERS:
            return self._number(_INTEGERS[tag])
        if tag in _STRINGS:
            return self._string(self._number(_STRINGS[tag]))
        if tag in _ARRAYS:
            return self._array(self._number(_ARRAYS[tag]))
        if tag in _MAPS:
            return self._map(self._number(_MAPS[tag]))
        raise ValueError(f"msgpack: a value of type 0x{tag:02x} at byte {self.at - 1}")

    def _take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise ValueError(f"msgpack: cut at byte {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]

    def _number(self, form: str) -> int:
        return int(struct.unpack(form, self._take(struct.calcsize(form)))[0])

    def _string(self, size: int) -> str:
        return self._take(size).decode()

    def _array(self, count: int) -> list[Any]:
        return [self.value() for _ in range(count)]

    def _map(self, count: int) -> dict[Any, Any]:
        return {self.value(): self.value() for _ in range(count)}
