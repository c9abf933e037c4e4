"""Names of functions in a loaded kernel library by address, and addresses by name, hidden functions too.

Kernels of all families are hidden, so that two libraries in one process do not share them. The dynamic linker does not
know them, but the symbol table of the file does. nvcc gives template kernels internal linkage on the host, which shows
as an L in their mangled names; here they have the names that device code has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ctypes import CDLL, c_void_p, cast
from functools import lru_cache
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.kernel.build.code_object import symbols

_ANCHOR = "bitgate_run"
"""A function that every kernel library exports: its address shows where the file is loaded."""


class LibrarySymbols:
    """The symbols of a library that this process has loaded. Raises UsageError if it is stripped of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = CDLL(str(path.resolve()))
        self._values = _values(path.read_bytes())
        here = cast(getattr(self._handle, _ANCHOR), c_void_p).value
        self._base = (here or 0) - self._values[_ANCHOR]
        self._names: dict[int, list[str]] = {}
        for name, value in self._values.items():
            self._names.setdefault(value, []).append(name)

    def names(self, address: int) -> tuple[str, ...]:
        """Return every name of the function at an address. Raises UsageError if it has none."""
        found = self._names.get(address - self._base)
        if not found:
            raise UsageError(f"{self.path} has no symbol for a kernel that it launched: build it without stripping")
        return tuple(found)

    def offset(self, name: str) -> int | None:
        """Return how far a function is from ``bitgate_run``, which every library exports; None if it has none."""
        value = self._values.get(name)
        return None if value is None else value - self._values[_ANCHOR]

    def address(self, name: str) -> int | None:
        value = self._values.get(name)
        return None if value is None else self._base + value


@lru_cache(maxsize=4)
def _values(data: bytes) -> Mapping[str, int]:
    """Return address by name, read once for all launches of a library: a thousand symbols take a tenth of a second."""
    return {external(symbol.name): symbol.value for symbol in symbols(data)}


def external(name: str) -> str:
    """Return a function's mangled name as if it had external linkage."""
    begin = re.match(r"_ZN?", name)
    if begin is None:
        return name
    done, rest = name[: begin.end()], name[begin.end() :]
    while word := re.match(r"L?(\d+)", rest):
        end = word.end() + int(word[1])
        done, rest = done + rest[:end].removeprefix("L"), rest[end:]
    return done + rest
