"""Blocks of small buffers on a GPU: a copy costs more than their bytes, and a block needs one for all."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import memmove
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bitgate.runtime.buffers import CANARY, SMALL, Buffer, Look, address_of, extent_of
from bitgate.runtime.errors import check

if TYPE_CHECKING:
    from bitgate.runtime.device import Device


def fits(contents: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether the contents are worth a block."""
    return len(contents) > 1 and sum(extent_of(content.nbytes) for content in contents.values()) <= SMALL


class BufferBlock:
    """Buffers by name, with these contents, each between its guards, in one piece of memory.

    ``alignment`` and ``placement`` are as in ``Device.alloc``. Free it when the buffers are freed. Raises HipError
    where a HIP call fails.
    """

    def __init__(self, device: Device, contents: Mapping[str, NDArray[Any]], alignment: int, placement: str) -> None:
        self.buffers: dict[str, Buffer] = {}
        self._device = device
        self._extent = sum(extent_of(content.nbytes) for content in contents.values())
        self._base = at = device.pool.take(self._extent)
        whole = np.full(self._extent, CANARY, np.uint8)
        address = whole.ctypes.data
        for name, content in contents.items():
            size = content.nbytes
            buffer = Buffer(device, size, name, alignment, placement, guarded=False, base=at)
            memmove(address + buffer.pointer - self._base, address_of(content, size), size)
            self.buffers[name] = buffer
            at += extent_of(size)
        kind = device.hip.hipMemcpyKind.hipMemcpyHostToDevice
        check(device.hip.hipMemcpy(self._base, address, self._extent, kind), "hipMemcpy")

    def look(self) -> dict[str, Look]:
        """Inspect each buffer as ``Buffer.look`` does. Work must have ended."""
        whole = np.empty(self._extent, np.uint8)
        kind = self._device.hip.hipMemcpyKind.hipMemcpyDeviceToHost
        check(self._device.hip.hipMemcpy(whole.ctypes.data, self._base, self._extent, kind), "hipMemcpy")
        looks, at = {}, 0
        for name, buffer in self.buffers.items():
            extent = extent_of(buffer.bytes)
            looks[name] = buffer.look_at(whole[at : at + extent])
            at += extent
        return looks

    def free(self) -> None:
        """Free the memory; a second call does nothing."""
        if self._base:
            base, self._base = self._base, 0
            self._device.pool.give(base, self._extent)
