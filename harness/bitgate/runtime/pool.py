"""A pool of freed device memory, kept for the next buffer: on a GPU an allocation costs more than most kernels."""

from __future__ import annotations

from typing import Any

from bitgate.runtime.errors import HipError, check

SMALLEST = 1 << 16
"""The least size of a block in bytes; sizes are powers of two: few sizes, so that a kept block often fits."""

LARGEST = 1 << 28
"""Larger blocks are not kept: their cost is not the allocation, and the next case may need the memory."""


class BlockPool:
    """Blocks of the current device's memory. ``limit`` bounds the bytes that are kept unused."""

    def __init__(self, hip: Any, limit: int = 1 << 31) -> None:
        self._hip = hip
        self._limit = limit
        self._free: dict[int, list[int]] = {}
        self.unused = 0
        """Bytes that are kept."""

    def take(self, size: int) -> int:
        """Return the address of at least ``size`` bytes. Raises HipError if there is no memory left."""
        block = _block(size)
        kept = self._free.get(block)
        if kept:
            self.unused -= block
            return kept.pop()
        try:
            return int(check(self._hip.hipMalloc(block), "hipMalloc"))
        except HipError:
            if not self.unused:
                raise
            self.empty()
            return int(check(self._hip.hipMalloc(block), "hipMalloc"))

    def give(self, address: int, size: int) -> None:
        """Take back the memory of ``take(size)``, whose work has ended."""
        block = _block(size)
        if block > LARGEST or self.unused + block > self._limit:
            check(self._hip.hipFree(address), "hipFree")
            return
        self._free.setdefault(block, []).append(address)
        self.unused += block

    def empty(self) -> None:
        """Free everything that is kept."""
        for addresses in self._free.values():
            for address in addresses:
                check(self._hip.hipFree(address), "hipFree")
        self._free.clear()
        self.unused = 0


def _block(size: int) -> int:
    if size > LARGEST:
        return size
    return max(SMALLEST, 1 << (size - 1).bit_length())
