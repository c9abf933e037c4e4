"""One launch between two events of a GPU's stream, on cold caches: what runs between them is the kernel alone.

The device is kept busy until kernel and events are queued, so that it waits for no host code between the events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bitgate.kernel.dispatch import DispatchRecord
from bitgate.model.host_tensor import HostTensor
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.caches import overwriting_bytes
from bitgate.runtime.device import Device
from bitgate.runtime.errors import check
from bitgate.verify.guarded import Buffers
from bitgate.verify.running import KernelWork, LaunchConfig, LaunchResult, fill, run_prepared

DEVICE = "device"
"""The key of a timed launch's seconds."""
OVERWRITING = 0x5A


class DeviceClock:
    """Two events on a GPU's stream, and memory that is written over before the first; ``hold`` keeps the stream
    busy."""

    def __init__(self, device: Device, hold: Callable[[], None]) -> None:
        self._device, self._hip, self._hold = device, device.hip, hold

    @cached_property
    def _events(self) -> tuple[Any, Any]:
        first, second = (check(self._hip.hipEventCreate(), "hipEventCreate") for _ in range(2))
        return first, second

    @cached_property
    def _overwritten(self) -> Buffer:
        return self._device.alloc(overwriting_bytes(self._device), name="overwritten", guarded=False)

    def prepare(self) -> None:
        """Allocate what the clock needs, before anything is watched."""
        self._hold()
        _ = self._events, self._overwritten

    def begin(self) -> None:
        """Queue work that lasts until the launch is queued, a write of all caches, and the first event."""
        self._hold()
        self._overwritten.fill(OVERWRITING)
        self._record(self._events[0])

    def end(self) -> None:
        self._record(self._events[1])

    def seconds(self) -> float:
        """Return the time between the events; the work must have ended."""
        first, second = self._events
        return 1e-3 * float(check(self._hip.hipEventElapsedTime(first, second), "hipEventElapsedTime"))

    def _record(self, event: Any) -> None:
        check(self._hip.hipEventRecord(event, self._device.stream), "hipEventRecord")


@dataclass(frozen=True)
class TimedWork(KernelWork):
    """A launch between the events of a clock."""

    clock: DeviceClock

    def start(self, buffers: Mapping[str, Buffer], stream: int) -> DispatchRecord:
        self.clock.begin()
        record = super().start(buffers, stream)
        self.clock.end()
        return record


def run_timed(
    device: Device,
    work: KernelWork,
    inputs: Mapping[str, HostTensor],
    outputs: Mapping[str, HostTensor],
    config: LaunchConfig,
    clock: DeviceClock,
) -> LaunchResult:
    """Launch as ``run_once`` does, and add the kernel's seconds on the device to those of the result."""
    clock.prepare()
    timed = TimedWork(work.runner, work.problem, work.workspace, clock)

    def prepare(buffers: Buffers) -> None:
        fill(buffers, timed, inputs, config)

    run = run_prepared(device, timed, prepare, inputs, outputs, config)
    if not run.crash:
        run.seconds[DEVICE] = clock.seconds()
    return run
