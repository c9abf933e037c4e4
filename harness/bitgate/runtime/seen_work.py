"""The launches and fills that our own runtimes (host, nvidia) saw: what a library says that it did is held to them."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, Structure, byref, c_char, c_int, c_uint32, c_uint64
from dataclasses import dataclass
from typing import Any, ClassVar

KERNEL, FILL = 0, 1
"""The kinds of ``enum BitgateWorkKind``."""


@dataclass(frozen=True)
class SeenWork:
    """One launch of a kernel or one fill of device memory (``kind``), in the order in which they were enqueued.

    ``name`` is the kernel's where the runtime knows it, or the call that fills; ``function`` is the kernel's address.
    ``is_private``: it fills memory that is none of the case's buffers.
    """

    kind: int
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    function: int
    address: int
    bytes: int
    is_private: bool = False


class CWork(Structure):
    """The C structure ``BitgateWork`` of ``bitgate_work.h``."""

    _fields_: ClassVar[Any] = [
        ("kind", c_int),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("reserved", c_uint32),
        ("function", c_uint64),
        ("address", c_uint64),
        ("bytes", c_uint64),
        ("name", c_char * 64),
    ]


def signatures(prefix: str) -> dict[str, tuple[Any, list[Any]]]:
    """Return the functions of a runtime's log, whose names begin with ``prefix``."""
    return {f"{prefix}Works": (c_uint64, []), f"{prefix}Work": (c_int, [c_uint64, POINTER(CWork)])}


class WorkLog:
    """The log of a runtime whose ``functions`` begin with ``prefix``."""

    def __init__(self, functions: dict[str, Any], prefix: str) -> None:
        self._count, self._read = functions[f"{prefix}Works"], functions[f"{prefix}Work"]

    def mark(self) -> int:
        """Return the present end of the log."""
        return int(self._count())

    def since(self, mark: int) -> Sequence[SeenWork] | None:
        """Return what was added after the mark; None if that is more than is kept."""
        found = []
        value = CWork()
        for place in range(mark, self.mark()):
            if self._read(place, byref(value)):
                return None
            found.append(_seen(value))
        return found


def _seen(value: CWork) -> SeenWork:
    name = value.name.decode(errors="replace")
    return SeenWork(value.kind, name, tuple(value.grid), tuple(value.block), value.function, value.address, value.bytes)
