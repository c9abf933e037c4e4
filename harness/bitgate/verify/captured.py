"""Launches that are captured into a graph, which is then replayed on other data.

Programs that replay graphs need kernels which only enqueue: a fill on the null stream, an allocation or a host wait is
refused between begin and end of the capture, and reported by the runtime with the call's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bitgate.kernel.dispatch import DispatchRecord
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError, check
from bitgate.verify.running import KernelWork


@dataclass(frozen=True)
class CapturedLaunch(KernelWork):
    """A launch that is captured at its first start, and replayed at each. Free it, or use it in a ``with``."""

    device: Device
    _graph: list[Any] = field(default_factory=list)
    """The executable graph and the record of the captured launch, once they exist."""

    @property
    def subject(self) -> None:
        """The graph keeps what is allocated in a capture."""

    def start(self, buffers: Mapping[str, Buffer], stream: int) -> DispatchRecord:
        if not self._graph:
            self._graph[:] = self._capture(buffers, stream)
        executable, record = self._graph
        check(self.device.hip.hipGraphLaunch(executable, stream), "hipGraphLaunch")
        assert isinstance(record, DispatchRecord)
        return record

    def _capture(self, buffers: Mapping[str, Buffer], stream: int) -> tuple[Any, DispatchRecord]:
        hip = self.device.hip
        mode = hip.hipStreamCaptureMode.hipStreamCaptureModeGlobal
        check(hip.hipStreamBeginCapture(stream, mode), "hipStreamBeginCapture")
        try:
            record = super().start(buffers, stream)
        except BaseException:
            hip.hipStreamEndCapture(stream)
            raise
        try:
            graph = check(hip.hipStreamEndCapture(stream), "hipStreamEndCapture")
        except HipError as error:  # the ledger of the device has the call that is to blame
            raise HipError(error.name, "the capture failed") from None
        try:
            return check(hip.hipGraphInstantiateWithFlags(graph, 0), "hipGraphInstantiateWithFlags"), record
        finally:
            check(hip.hipGraphDestroy(graph), "hipGraphDestroy")

    def free(self) -> None:
        """Destroy the graph. On a device that a kernel has broken nothing can be destroyed, or needs to be."""
        if self._graph:
            executable, _ = self._graph
            self._graph.clear()
            try:
                check(self.device.hip.hipGraphExecDestroy(executable), "hipGraphExecDestroy")
            except HipError:
                self.device.hip.hipGetLastError()

    def __enter__(self) -> CapturedLaunch:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()
