"""Memory that a process shares with a child: bulk data go through it, and nothing that decides.

The child can write anything there at any time. Its parent copies what it is to rely on, and keeps nothing else there.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

ALIGNMENT = 64
KEPT = 64 << 20
"""Bytes that stay allocated between two uses."""

_HOLE, _KEEP_SIZE = 2, 1


class Arena:
    """One memory, known to both processes by a descriptor; it grows as either side needs it, and never shrinks: a
    child that cuts it short would end its parent."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._bytes: Bytes = np.empty(0, np.uint8)

    def sized(self, size: int) -> Bytes:
        """Return the memory, at least ``size`` bytes. Views that were taken before stay valid."""
        if size > self._bytes.nbytes:
            size = max(size, 2 * self._bytes.nbytes)
            size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
            if os.fstat(self.descriptor).st_size < size:
                _grow(self.descriptor, size)
            self._bytes = _mapped(self.descriptor, size)
        return self._bytes

    def trim(self) -> None:
        """Give back what the largest use of all took."""
        if self._bytes.nbytes > KEPT:
            size = ctypes.c_int64(self._bytes.nbytes - KEPT)
            _libc().fallocate(self.descriptor, _HOLE | _KEEP_SIZE, ctypes.c_int64(KEPT), size)

    def close(self) -> None:
        os.close(self.descriptor)


class Layout:
    """Places in an arena, one after the other."""

    def __init__(self) -> None:
        self.size = 0

    def place(self, size: int) -> int:
        """Return the offset of ``size`` bytes more."""
        at = self.size
        self.size = -(-(at + size) // ALIGNMENT) * ALIGNMENT
        return at


def _grow(descriptor: int, size: int) -> None:
    """Make the memory larger. MemoryError if the system has no more, or lets no file be so large."""
    try:
        os.ftruncate(descriptor, size)
    except OSError as error:
        raise MemoryError(f"{size} bytes of shared memory: {error.strerror} (see ulimit -f)") from None


def _mapped(descriptor: int, size: int) -> Bytes:
    """Map the memory for good. Python's own mmap keeps a descriptor for each, which the child would seem to open."""
    libc = _libc()
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, descriptor, 0)
    if address == ctypes.c_void_p(-1).value:
        raise MemoryError(f"{size} bytes of shared memory: {os.strerror(ctypes.get_errno())}")
    memory: Any = (ctypes.c_uint8 * size).from_address(address)
    found: Bytes = np.frombuffer(memory, np.uint8)
    return found


@lru_cache(maxsize=1)
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)
