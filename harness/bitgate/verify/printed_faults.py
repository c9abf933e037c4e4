"""Faults of kernels that were reported before they ended their process: by ROCm's runtime in print, by a sanitizer."""

from __future__ import annotations

import re

from bitgate.core import compute_sanitizer, emulation
from bitgate.core.untrusted import printable
from bitgate.runtime import sanitizer_log
from bitgate.worker.worker import Worker

_KEPT = 8192
_FAULT = re.compile(
    rb"[^\n]*(?:Memory access fault by GPU|HSA_STATUS_ERROR_(?:MEMORY_FAULT|EXCEPTION|MEMORY_APERTURE_VIOLATION|"
    rb"ILLEGAL_INSTRUCTION))[^\n]*"
)


class PrintedFaults:
    """The end of what a worker prints under an emulator, and the fault in it, or a sanitizer's log of a worker.

    A GPU's fault ends the process as an emulator's own defect does: only this line distinguishes them.
    """

    def __init__(self, worker: Worker) -> None:
        self._end = bytearray()
        self._log = worker.environment.get(compute_sanitizer.LOG, "")
        if emulation.launcher():
            worker.also_prints_to(self._take)

    def _take(self, data: bytes) -> None:
        self._end += data
        del self._end[:-_KEPT]

    def taken(self) -> str:
        """Return the last fault, and forget what was printed; empty if there is none."""
        if self._log:
            return sanitizer_log.first_of(self._log)
        found = _FAULT.findall(bytes(self._end))
        self._end.clear()
        return printable(found[-1].decode(errors="replace").strip()[:300]) if found else ""
