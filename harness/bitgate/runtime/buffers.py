"""Device memory: buffers between guards that show a write out of bounds, blocks of small ones, and a pool of freed
memory."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import memmove
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.memory_runs import Runs
from bitgate.runtime.errors import HipError, check
from bitgate.runtime.reservation import Reservation, whole_pages

if TYPE_CHECKING:
    from bitgate.runtime.device import Device


GUARD_BYTES = 4096
CANARY = 0xC5
_GRAIN = 256
"""Both guards begin on this boundary, so that their fill and the allocation keep the device's natural alignment."""
NATURAL_ALIGNMENT = 256
"""Bytes to which an allocation on a GPU is aligned."""
PAGE = 4096
"""Bytes of a page of the host's memory."""
SMALL = 1 << 20
"""Up to this size a call costs more than copying the bytes of the guards and of what is between them."""


@dataclass(frozen=True)
class GuardDamage:
    """The first byte outside a buffer that was written; ``offset`` is in bytes from the buffer's begin."""

    buffer: str
    offset: int
    size: int

    @property
    def text(self) -> str:
        if self.offset < 0:
            return f"byte {-self.offset} before buffer {self.buffer} was written"
        return f"byte {self.offset - self.size} past the end of buffer {self.buffer} ({self.size} bytes) was written"


@dataclass(frozen=True, eq=False)
class Look:
    """The damage around a buffer of a GPU, and the ``content`` of a small one."""

    damage: GuardDamage | None
    content: np.ndarray[Any, np.dtype[np.uint8]] | None = None


class Buffer:
    """A number of ``bytes`` of device memory at ``pointer``. Free it, or use it in a ``with``. Raises HipError where a
    HIP call fails."""

    def __init__(
        self,
        device: Device,
        size: int,
        name: str,
        alignment: int,
        placement: str,
        guarded: bool = True,
        *,
        base: int = 0,
        runs: Runs | None = None,
    ) -> None:
        """Allocate; ``base`` is the address on a GPU of ``extent_of`` the size, in memory that its owner frees.

        With ``runs`` there is memory for these alone, in whole pages.
        """
        if alignment < 1 or alignment & (alignment - 1) or alignment > GUARD_BYTES:
            raise ValueError(f"alignment {alignment}: a power of two up to {GUARD_BYTES}")
        if placement not in ("right", "left"):
            raise ValueError(f"placement '{placement}': right or left")
        self.bytes = size
        self.name = name
        self._device = device
        self._hip: Any = device.hip
        self._damaged = False
        self._reservation: Reservation | None = None
        if device.host is not None:
            self._base = self.pointer = device.host.malloc(max(1, size), alignment, placement, name, runs)
            device.host.lend(self._base, True)
            if runs is not None:
                device.runs[self.pointer] = _whole_pages(runs, self.pointer, size)
        else:
            self._allocate_with_zones(alignment, placement, base, runs)
            if guarded:
                self._make_guards()

    def upload(self, source: np.ndarray[Any, Any]) -> None:
        """Copy a contiguous array of exactly this size to the device."""
        address = address_of(source, self.bytes)
        for begin, end in self._runs():
            self._device.copy_in(self.pointer + begin, address + begin, end - begin)

    def put(self, source: np.ndarray[Any, Any]) -> None:
        """Copy an array to a buffer without guards, and make these: in one copy where that costs less."""
        if self._device.host is None and self._extent <= SMALL and self.zones():
            address = address_of(source, self.bytes)
            whole = np.full(self._extent, CANARY, np.uint8)
            at = self.pointer - self._base
            memmove(whole.ctypes.data + at, address, self.bytes)
            self._device.copy_in(self._base, whole.ctypes.data, self._extent)
            return
        if self._device.host is None:
            self._make_guards()
        self.upload(source)

    def look(self) -> Look:
        """Check the guards of a GPU's buffer, and copy the content of a small one, which costs no more. Work must have
        ended."""
        if self._extent > SMALL or not self.zones():
            return Look(self.check_guards())
        whole = np.empty(self._extent, np.uint8)
        self._device.copy_out(whole.ctypes.data, self._base, self._extent)
        return self.look_at(whole)

    def look_at(self, whole: np.ndarray[Any, np.dtype[np.uint8]]) -> Look:
        """Inspect what was copied from the buffer and its guards."""
        at = self.pointer - self._base
        content = whole[at : at + self.bytes]
        damage = self._damage_in(whole[:at], self._base) or self._damage_in(
            whole[at + self.bytes :], self.pointer + self.bytes
        )
        self._damaged = damage is not None
        return Look(damage, content)

    def download(self, target: np.ndarray[Any, Any]) -> None:
        """Copy to a contiguous array of exactly this size. Work on other streams must have ended."""
        address = address_of(target, self.bytes)
        for begin, end in self._runs():
            self._device.copy_out(address + begin, self.pointer + begin, end - begin)

    def fill(self, byte: int) -> None:
        """Set every byte."""
        for begin, end in self._runs():
            self._device.fill(self.pointer + begin, byte, end - begin)

    def check_guards(self) -> GuardDamage | None:
        """Return the first write outside the buffer, None if there was none. Work must have ended."""
        damage = self._find_damage()
        self._damaged = damage is not None
        return damage

    def free(self) -> None:
        """Free the memory; a second call does nothing.

        The host checks its canaries once more: damage that ``check_guards`` has not reported raises HipError.
        """
        if self._base:
            self._device.runs.pop(self.pointer, None)
            base, self._base, self.pointer = self._base, 0, 0
            if self._device.host is None:
                if self._reservation is not None:
                    self._reservation.free()
                elif self._owns:
                    self._device.pool.give(base, self._extent)
                return
            self._device.host.lend(base, False)
            result = self._hip.hipFree(base)
            if self._damaged:
                self._hip.hipGetLastError()
            else:
                check(result, "hipFree")

    def __enter__(self) -> Buffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.free()
        except HipError:
            if error is None:
                raise

    def _runs(self) -> Runs:
        return self._device.runs_at(self.pointer, self.bytes) if self.bytes else ()

    def _allocate_with_zones(self, alignment: int, placement: str, base: int, runs: Runs | None) -> None:
        if self._device.pool.exact and not base and runs is None:
            self._extent = self.bytes + (alignment if alignment > NATURAL_ALIGNMENT else 0)
            self._owns, self._base = True, self._device.pool.take(self._extent)
            self.pointer = -(-self._base // alignment) * alignment
            return
        self._extent = extent_of(self.bytes)
        inner = self._extent - 2 * GUARD_BYTES
        slack = (inner - self.bytes) // alignment * alignment if placement == "right" else 0
        before = GUARD_BYTES + slack
        self._owns = not base
        if runs is None:
            self._base = base or self._device.pool.take(self._extent)
            self.pointer = self._base + before
            return
        zones = (0, before), (before + self.bytes, self._extent)
        parts = sorted([*((before + begin, before + end) for begin, end in runs), *zones])
        self._reservation = Reservation(self._hip, self._device.index, self._extent, tuple(parts))
        self._base = self._reservation.address
        self.pointer = self._base + before
        self._device.runs[self.pointer] = _within(self._reservation.mapped, before, self.bytes)

    def _make_guards(self) -> None:
        zones = self.zones()
        whole = (self._base, self._base + self._extent)
        for begin, end in [whole] if zones and self._extent <= SMALL else zones:
            self._device.fill(begin, CANARY, end - begin)

    def _find_damage(self) -> GuardDamage | None:
        if self._device.host is not None:
            offset = self._device.host.damaged_at(self.pointer)
            return None if offset is None else GuardDamage(self.name, offset, self.bytes)
        for begin, end in self.zones():
            zone = np.empty(end - begin, np.uint8)
            self._device.copy_out(zone.ctypes.data, begin, zone.nbytes)
            if damage := self._damage_in(zone, begin):
                return damage
        return None

    def _damage_in(self, zone: np.ndarray[Any, np.dtype[np.uint8]], begin: int) -> GuardDamage | None:
        wrong = np.flatnonzero(zone != CANARY)
        if not wrong.size:
            return None
        # Before the buffer report the byte nearest to it, after it the first.
        at = int(wrong[-1] if begin < self.pointer else wrong[0])
        return GuardDamage(self.name, begin + at - self.pointer, self.bytes)

    def zones(self) -> tuple[tuple[int, int], ...]:
        """Return (begin, end) of the guards before and after the buffer on a GPU: their bytes hold CANARY.

        None where a sanitizer watches the borders of allocations (``BlockPool.exact``).
        """
        if self._device.pool.exact:
            return ()
        return (self._base, self.pointer), (self.pointer + self.bytes, self._base + self._extent)


def _whole_pages(runs: Runs, address: int, size: int) -> Runs:
    """Return the bytes of a host's buffer at an address that are in the pages of ``runs``."""
    pages = whole_pages(tuple((address + begin, address + end) for begin, end in runs), PAGE)
    return _within(pages, address, size)


def _within(pages: Runs, address: int, size: int) -> Runs:
    """Return the bytes of a buffer at an address that are in these pages, each of which has some."""
    return tuple((max(0, begin - address), min(size, end - address)) for begin, end in pages)


def extent_of(size: int) -> int:
    """Return the bytes that a buffer takes on a GPU with its guards."""
    return -(-size // _GRAIN) * _GRAIN + 2 * GUARD_BYTES


def address_of(array: np.ndarray[Any, Any], size: int) -> int:
    """Return the address of a contiguous array of ``size`` bytes."""
    if array.nbytes != size or not array.flags.c_contiguous:
        raise ValueError(f"the array has {array.nbytes} bytes (contiguous: {array.flags.c_contiguous}), want {size}")
    return int(array.ctypes.data)


def fits(contents: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether the contents are worth a block."""
    return len(contents) > 1 and sum(extent_of(content.nbytes) for content in contents.values()) <= SMALL


class BufferBlock:
    """Small buffers of a GPU by name, with these contents, each between its guards, in one piece of memory.

    A copy costs more than their bytes, and this needs one for all. ``alignment`` and ``placement`` are as in
    ``Device.alloc``. Free it when the buffers are freed. Raises HipError where a HIP call fails.
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
        device.copy_in(self._base, address, self._extent)

    def look(self) -> dict[str, Look]:
        """Inspect each buffer as ``Buffer.look`` does. Work must have ended."""
        whole = np.empty(self._extent, np.uint8)
        self._device.copy_out(whole.ctypes.data, self._base, self._extent)
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


SMALLEST_BLOCK = 1 << 16
"""The least size of a block in bytes; sizes are powers of two: few sizes, so that a kept block often fits."""

LARGEST_BLOCK = 1 << 28
"""Larger blocks are not kept: their cost is not the allocation, and the next case may need the memory."""


class BlockPool:
    """Freed memory of the current device, kept for the next buffer: on a GPU an allocation costs more than most
    kernels.

    ``limit`` bounds the bytes that are kept unused. ``exact``: each size is allocated as it is, and freed at once.
    """

    def __init__(self, hip: Any, limit: int = 1 << 31, *, exact: bool = False) -> None:
        self.exact = exact
        self._hip = hip
        self._limit = limit
        self._free: dict[int, list[int]] = {}
        self.unused = 0
        """Bytes that are kept."""

    def take(self, size: int) -> int:
        """Return the address of at least ``size`` bytes. Raises HipError if there is no memory left."""
        block = self._block_size(size)
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
        block = self._block_size(size)
        if self.exact or block > LARGEST_BLOCK or self.unused + block > self._limit:
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

    def _block_size(self, size: int) -> int:
        if self.exact or size > LARGEST_BLOCK:
            return max(1, size)
        return max(SMALLEST_BLOCK, 1 << (size - 1).bit_length())
