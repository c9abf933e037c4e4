"""The floor of a time: how fast a target copies the bytes of a problem's tensors. No kernel is counted as faster.

A kernel reads its inputs and writes its outputs, and a copy does nothing else. So each time that lies below is forged,
or of caches that were not cold.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from bitgate.core.project import ours
from bitgate.model import Problem
from bitgate.runtime.errors import check
from bitgate.verify.launcher_messages import CallGuest
from bitgate.verify.launcher_process import LauncherProcess
from bitgate.verify.session import Session

COPIES = 5
GUEST = f"{__name__}:DeviceCopies"


def floors_on(target: str, problems: Sequence[Problem]) -> list[float]:
    """Return the fastest of several copies of as many bytes as all tensors of each problem have: half of them are read
    or written by a kernel, which has more to do than to copy."""
    sizes = [sum(tensor.bytes for tensor in problem.tensors.values()) // 2 + 1 for problem in problems]
    if target == "host":
        return [_on_host(size) for size in sizes]
    launcher = LauncherProcess(target, ours().as_json(), {}, lambda *note: None)  # no submission was ever in it
    try:
        return [float(launcher.call(CallGuest(GUEST, "seconds", {"size": size}))) for size in sizes]
    finally:
        launcher.end()


def _on_host(size: int) -> float:
    source, into = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    best = float("inf")
    for _ in range(COPIES):
        begun = perf_counter()
        np.copyto(into, source)
        best = min(best, perf_counter() - begun)
    return best


class DeviceCopies:
    """A guest of a launcher that times copies within a GPU's memory by its events."""

    def __init__(self, session: Session) -> None:
        self._opened = session.opened

    def seconds(self, size: int) -> float:
        """Return the seconds of the fastest of several copies of this many bytes."""
        device, hip, best = self._opened.device, self._opened.device.hip, float("inf")
        begin, end = (check(hip.hipEventCreate(), "hipEventCreate") for _ in range(2))
        with device.alloc(size, name="source", guarded=False) as source, device.alloc(size, name="copy") as into:
            for _ in range(COPIES):
                self._opened.hold()
                self._record(begin)
                device.copy_within(into.pointer, source.pointer, size)
                self._record(end)
                device.wait()
                best = min(best, 1e-3 * float(check(hip.hipEventElapsedTime(begin, end), "hipEventElapsedTime")))
        return best

    def _record(self, event: Any) -> None:
        check(self._opened.device.hip.hipEventRecord(event, self._opened.device.stream), "hipEventRecord")
