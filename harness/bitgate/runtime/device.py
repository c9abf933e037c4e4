"""One open device: memory, a stream, and what the platform can report about faults."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from bitgate.core import compute_sanitizer
from bitgate.core.errors import UsageError
from bitgate.core.settings import bytes_of
from bitgate.model.memory_runs import Runs
from bitgate.runtime.buffers import BlockPool, Buffer
from bitgate.runtime.errors import HipError, check
from bitgate.runtime.host import DeviceFault, HostRuntime
from bitgate.runtime.ledger import HipLedger, HostLedger, IncidentLedger
from bitgate.runtime.targets import Target


@dataclass(frozen=True)
class Attributes:
    """The capabilities of a device; memory and LDS in bytes."""

    compute_units: int
    wave_size: int
    max_threads_per_block: int
    lds_per_block: int
    total_memory: int


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes of device memory that can still be allocated, and of all of it; ``in_parts`` as ``Device.maps_parts``."""

    free: int
    total: int
    in_parts: bool = False


class Device:
    """An open device, made by ``open_device``. ``hip`` is hip-python's module; ``host`` is the host runtime's own API,
    None on a GPU; ``ledger`` is its runtime's record of incidents."""

    def __init__(
        self, target: Target, hip: Any, host: HostRuntime | None, index: int = 0, ledger: IncidentLedger | None = None
    ) -> None:
        self.target = target
        self.hip = hip
        self.host = host
        self.index = index
        self.ledger = ledger or (HipLedger(hip) if host is None else HostLedger(host))
        check(hip.hipSetDevice(index), "hipSetDevice")
        # Nothing orders it with the null stream: a library that uses that one without a wait is found out.
        flags = hip.hipStreamNonBlocking
        self._stream = check(hip.hipStreamCreateWithFlags(flags), "hipStreamCreateWithFlags")
        self.stream = int(self._stream)
        self.ledger.lend_stream(self.stream, True)
        self.runs: dict[int, Runs] = {}
        """The parts with memory of buffers that have memory in parts alone, by address."""
        self.pool = BlockPool(hip, exact=compute_sanitizer.inside() in compute_sanitizer.EXACT)

    def alloc(
        self,
        size: int,
        *,
        name: str,
        alignment: int = 16,
        placement: str = "right",
        guarded: bool = True,
        runs: Runs | None = None,
    ) -> Buffer:
        """Allocate ``size`` bytes of device memory at the promised alignment, between guards.

        With ``placement`` ``right`` its end is at a guard, with ``left`` its begin. Without ``guarded`` a GPU's guards
        are still to be made, together with those of other buffers (``Tools.guard``). With ``runs`` there is memory for
        these alone, in whole pages: on a GPU that ``maps_parts``. Raises HipError if there is no memory left.
        """
        return Buffer(self, size, name, alignment, placement, guarded, runs=runs)

    def runs_at(self, address: int, size: int) -> Runs:
        """Return the parts of ``size`` bytes at an address that are memory, in bytes from there."""
        return self.runs.get(address) or ((0, size),)

    def synchronize(self) -> None:
        """Wait for all work. Raises HipError if a kernel failed; on the host ``fault`` then says where."""
        check(self.hip.hipDeviceSynchronize(), "hipDeviceSynchronize")

    def wait(self) -> None:
        """Wait for the work on this device's stream only. Raises HipError as ``synchronize`` does."""
        check(self.hip.hipStreamSynchronize(self._stream), "hipStreamSynchronize")

    def copy_in(self, target: int, source: int, size: int) -> None:
        """Copy bytes of host memory, which may change afterwards, to the device, on its stream."""
        self._copy(target, source, size, self.hip.hipMemcpyKind.hipMemcpyHostToDevice)

    def copy_out(self, target: int, source: int, size: int) -> None:
        """Copy bytes of device memory to the host, on its stream, and wait. Work on other streams must have ended."""
        self._copy(target, source, size, self.hip.hipMemcpyKind.hipMemcpyDeviceToHost)
        self.wait()

    def copy_within(self, target: int, source: int, size: int) -> None:
        """Copy bytes within device memory, on its stream, without a wait."""
        self._copy(target, source, size, self.hip.hipMemcpyKind.hipMemcpyDeviceToDevice)

    def fill(self, target: int, byte: int, size: int) -> None:
        """Set bytes of device memory, on its stream, without a wait."""
        check(self.hip.hipMemsetAsync(target, byte, size, self._stream), "hipMemsetAsync")

    def _copy(self, target: int, source: int, size: int, kind: Any) -> None:
        check(self.hip.hipMemcpyAsync(target, source, size, kind, self._stream), "hipMemcpyAsync")

    @property
    def attributes(self) -> Attributes:
        """The attributes that the device reports now: tests change the host's."""
        kinds = self.hip.hipDeviceAttribute_t
        return Attributes(
            compute_units=self._attribute(kinds.hipDeviceAttributeMultiprocessorCount),
            wave_size=self._attribute(kinds.hipDeviceAttributeWarpSize),
            max_threads_per_block=self._attribute(kinds.hipDeviceAttributeMaxThreadsPerBlock),
            lds_per_block=self._attribute(kinds.hipDeviceAttributeMaxSharedMemoryPerBlock),
            total_memory=self._memory()[1],
        )

    @cached_property
    def identity(self) -> dict[str, str]:
        """Names of this GPU among others of its kind: uuid, PCI address, index. The host has none."""
        if self.host is not None:
            return {}
        found = {"index": str(self.index)}
        with suppress(AttributeError, HipError, TypeError, ValueError):
            address = check(self.hip.hipDeviceGetPCIBusId(32, self.index), "hipDeviceGetPCIBusId")
            found["pci"] = (address.decode() if isinstance(address, bytes) else str(address)).strip("\0 ").lower()
        with suppress(AttributeError, HipError, TypeError, ValueError):
            data = bytes(check(self.hip.hipDeviceGetUuid(self.index), "hipDeviceGetUuid").bytes)
            # AMD's sixteen bytes are the letters of a hexadecimal number.
            found["uuid"] = f"GPU-{data.decode()}" if data.isalnum() else f"GPU-{UUID(bytes=data)}"
        return found

    @cached_property
    def maps_parts(self) -> bool:
        """True where addresses can be reserved of which parts alone are memory."""
        if self.host is not None:
            return True
        try:
            return self._attribute(self.hip.hipDeviceAttribute_t.hipDeviceAttributeVirtualMemoryManagementSupported) > 0
        except HipError:  # a runtime that does not know the attribute
            return False

    def memory(self) -> DeviceMemory:
        """Return what cases may count on."""
        return DeviceMemory(self.free_memory(), self.total_memory, self.maps_parts)

    def free_memory(self) -> int:
        """Return the bytes that can still be allocated."""
        return self._memory()[0] + self.pool.unused

    @cached_property
    def total_memory(self) -> int:
        """The bytes of the device's memory, free or not."""
        return self._memory()[1]

    def fault(self) -> DeviceFault | None:
        """Return what the host runtime knows of the last fault since ``clear_fault``; None on a GPU."""
        return self.host.fault() if self.host else None

    def clear_fault(self) -> None:
        """Clear the last fault and HIP's last error, so that later ones are the next case's: libraries read
        ``hipGetLastError`` after their launches."""
        self.hip.hipGetLastError()
        if self.host:
            self.host.clear_fault()

    def set_schedule(self, text: str) -> None:
        """Set the order of a block's threads: ``forward``, ``reverse``, ``lockstep``, ``random:N``; host only."""
        self._host("a schedule").set_schedule(text)

    def set_poison_byte(self, byte: int) -> None:
        """Set the byte that fills LDS and new memory until something writes them; host only."""
        self._host("a byte of poison").set_poison_byte(byte)

    def set_threads(self, count: int) -> None:
        """Set the number of CPU threads that run blocks; host only."""
        self._host("a thread count").set_threads(count)

    def close(self) -> None:
        """Destroy the stream."""
        if self._stream is not None:
            stream, self._stream = self._stream, None
            self.ledger.lend_stream(self.stream, False)
            check(self.hip.hipStreamDestroy(stream), "hipStreamDestroy")

    def _memory(self) -> tuple[int, int]:
        """Return the bytes of free memory, and of all memory, as far as cases may count on them."""
        result = self.hip.hipMemGetInfo()
        check(result[:1], "hipMemGetInfo")
        free, total = int(result[1]), int(result[2])
        stated = os.environ.get("BITGATE_DEVICE_MEMORY")
        return (min(free, bytes_of(stated)), min(total, bytes_of(stated))) if stated else (free, total)

    def _attribute(self, kind: Any) -> int:
        return int(check(self.hip.hipDeviceGetAttribute(kind, self.index), "hipDeviceGetAttribute"))

    def _host(self, what: str) -> HostRuntime:
        if self.host is None:
            raise UsageError(f"{what} can be set on the host target only, not on {self.target.name}")
        return self.host
