"""One open device: memory, a stream, and what the platform can tell about faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.errors import check
from bitgate.runtime.host import DeviceFault, HostRuntime
from bitgate.runtime.ledger import HipLedger, HostLedger, IncidentLedger
from bitgate.runtime.pool import BlockPool
from bitgate.runtime.targets import Target


@dataclass(frozen=True)
class Attributes:
    """What a device can do; memory and LDS in bytes."""

    compute_units: int
    wave_size: int
    max_threads_per_block: int
    lds_per_block: int
    total_memory: int


class Device:
    """Made by ``open_device``. ``hip`` is hip-python's module; ``host`` the host runtime's own API, None on a GPU;
    ``ledger`` what its runtime has on record."""

    def __init__(
        self, target: Target, hip: Any, host: HostRuntime | None, index: int = 0, ledger: IncidentLedger | None = None
    ) -> None:
        self.target = target
        self.hip = hip
        self.host = host
        self.index = index
        self.ledger = ledger or (HipLedger(hip) if host is None else HostLedger(host))
        check(hip.hipSetDevice(index), "hipSetDevice")
        self._stream = check(hip.hipStreamCreate(), "hipStreamCreate")
        self.stream = int(self._stream)
        self.ledger.lend_stream(self.stream, True)
        self.pool = BlockPool(hip)

    def alloc(
        self, size: int, *, name: str, alignment: int = 16, placement: str = "right", guarded: bool = True
    ) -> Buffer:
        """Device memory of ``size`` bytes at the promised alignment, between guards.

        ``placement`` ``right`` puts its end, ``left`` its begin at a guard. Without ``guarded`` a GPU's guards are
        still to be made, with those of other buffers at once (``Tools.guard``). HipError if there is none left.
        """
        return Buffer(self, size, name, alignment, placement, guarded)

    def synchronize(self) -> None:
        """Wait for all work. HipError if a kernel failed; on the host ``fault`` then tells where."""
        check(self.hip.hipDeviceSynchronize(), "hipDeviceSynchronize")

    def wait(self) -> None:
        """Wait for the work on this device's own stream, and no other's. HipError as ``synchronize``."""
        check(self.hip.hipStreamSynchronize(self._stream), "hipStreamSynchronize")

    @property
    def attributes(self) -> Attributes:
        """As the device reports them now: tests change the host's."""
        kinds = self.hip.hipDeviceAttribute_t
        return Attributes(
            compute_units=self._attribute(kinds.hipDeviceAttributeMultiprocessorCount),
            wave_size=self._attribute(kinds.hipDeviceAttributeWarpSize),
            max_threads_per_block=self._attribute(kinds.hipDeviceAttributeMaxThreadsPerBlock),
            lds_per_block=self._attribute(kinds.hipDeviceAttributeMaxSharedMemoryPerBlock),
            total_memory=self._memory()[1],
        )

    def free_memory(self) -> int:
        """Bytes that can still be allocated."""
        return self._memory()[0] + self.pool.unused

    def fault(self) -> DeviceFault | None:
        """What the host runtime knows of the last fault since ``clear_fault``; a GPU tells nothing."""
        return self.host.fault() if self.host else None

    def clear_fault(self) -> None:
        """Forget the last fault and HIP's last error, so that what is found next is the next case's: libraries read
        ``hipGetLastError`` behind their launches."""
        self.hip.hipGetLastError()
        if self.host:
            self.host.clear_fault()

    def set_schedule(self, text: str) -> None:
        """Order of a block's threads: ``forward``, ``reverse``, ``lockstep``, ``random:N``; host only."""
        self._host("a schedule").set_schedule(text)

    def set_poison_byte(self, byte: int) -> None:
        """What LDS and new memory hold before anybody writes them; host only."""
        self._host("a byte of poison").set_poison_byte(byte)

    def set_threads(self, count: int) -> None:
        """CPU threads that run blocks; host only."""
        self._host("a thread count").set_threads(count)

    def close(self) -> None:
        """Give the stream back."""
        if self._stream is not None:
            stream, self._stream = self._stream, None
            self.ledger.lend_stream(self.stream, False)
            check(self.hip.hipStreamDestroy(stream), "hipStreamDestroy")

    def _memory(self) -> tuple[int, int]:
        """Bytes that are free, and all."""
        result = self.hip.hipMemGetInfo()
        check(result[:1], "hipMemGetInfo")
        return int(result[1]), int(result[2])

    def _attribute(self, kind: Any) -> int:
        return int(check(self.hip.hipDeviceGetAttribute(kind, self.index), "hipDeviceGetAttribute"))

    def _host(self, what: str) -> HostRuntime:
        if self.host is None:
            raise UsageError(f"{what} can be set on the host target only, not on {self.target.name}")
        return self.host
