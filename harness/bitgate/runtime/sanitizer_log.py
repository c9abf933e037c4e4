"""The log of NVIDIA's compute-sanitizer, and a ledger that reads it: a finding is an incident of the launch it was in.

A finding is a line ``========= Invalid __global__ read of size 4 bytes`` and the lines after it that are indented:
where in the kernel, by which thread, at which address; then backtraces, which are left out here.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from ctypes import CDLL
from dataclasses import dataclass
from pathlib import Path

from bitgate.core import compute_sanitizer
from bitgate.core.untrusted import printable
from bitgate.runtime.errors import HipError
from bitgate.runtime.host import DeviceFault
from bitgate.runtime.ledger import Incident, NvidiaLedger

SANITIZER_FAULT = "sanitizer"

QUIET_SECONDS = 0.2
"""The tool writes from a process of its own: after a launch has ended it has these seconds to begin, and after each
piece of its text to go on. What comes later is of an earlier launch (``SanitizerLedger.mark``)."""
MOST_SECONDS = 10.0
"""Time for a text without end, such as of a kernel that races at every step."""
_MOST_BYTES = 16 << 20
_MOST_SHOWN = 600

_LINE = re.compile(r"^=========(?: (?P<indent> *)(?P<text>.*?))?\s*$")
_NOTE = re.compile(
    r"COMPUTE-SANITIZER|[A-Z ]*SUMMARY:|Program hit |Target application |Error: Target application |"
    r"Error: process didn't terminate|Tracking kernels launched|Internal Sanitizer Warning|info: ",
    re.IGNORECASE,
)
"""How the lines begin that say nothing of a kernel."""
_BACKTRACE = re.compile(r"Saved host backtrace|(Host|Device) Frame")
_OWN_FAILURE = re.compile(
    "Internal Sanitizer Error|Device not supported|Error: (?!Race|.*hazard)|Warning: Detected overflow", re.IGNORECASE
)
_KERNEL = re.compile(r"\bat (?!__|0x)(?P<kernel>[^+]+?)(?:\+0x|:0x| in |$)")
_PLACE = re.compile(r"\((\d+),(\d+),(\d+)\)")


@dataclass(frozen=True)
class SanitizerFinding:
    """One finding in the tool's words, a line an entry; ``kernel``, ``thread`` and ``block`` as far as it has them."""

    lines: tuple[str, ...]

    @property
    def is_own_failure(self) -> bool:
        """True if the tool reports a failure of itself, after which kernels may go unwatched."""
        return bool(_OWN_FAILURE.match(self.lines[0]))

    @property
    def sentence(self) -> str:
        """All of it in one line, without backtraces."""
        return printable(", ".join(self.lines)[:_MOST_SHOWN])

    @property
    def kernel(self) -> str:
        for line in self.lines:
            if found := _KERNEL.search(line):
                return found["kernel"].strip()
        return ""

    @property
    def fault(self) -> DeviceFault:
        """The finding as a fault of the device; ``text`` names the tool."""
        by = next((line for line in self.lines if line.startswith("by thread")), "")
        places = [(int(x), int(y), int(z)) for x, y, z in _PLACE.findall(by)]
        thread, block = places[:2] if len(places) > 1 else ((0, 0, 0), (0, 0, 0))
        kinds = {"write": True, "read": False}
        is_write = next((kinds[word] for word in self.lines[0].split() if word in kinds), None)
        text = f"{compute_sanitizer.inside() or compute_sanitizer.PROGRAM}: {self.sentence}"
        return DeviceFault(SANITIZER_FAULT, 0, text, self.kernel, block, thread, is_write, 0, 0, "", 0)


def parse(text: str) -> list[SanitizerFinding]:
    """Return the findings of a log, in the order in which they were written."""
    found: list[list[str]] = []
    is_finding = in_backtrace = False
    for line in text.splitlines():
        if (match := _LINE.match(line)) is None:
            continue
        indent, words = match["indent"] or "", (match["text"] or "").strip()
        if not words:
            is_finding = False
        elif not indent:
            is_finding, in_backtrace = not _NOTE.match(words), False
            if is_finding:
                found.append([words])
        elif is_finding:
            in_backtrace = in_backtrace or bool(_BACKTRACE.match(words))
            if not in_backtrace:
                found[-1].append(words)
    return [SanitizerFinding(tuple(lines)) for lines in found]


def first_of(log: str) -> str:
    """Return the first finding in a log, in one line; empty if there is none."""
    try:
        with Path(log).open("rb") as file:
            found = parse(file.read(_MOST_BYTES).decode("utf-8", "replace"))
    except OSError:
        return ""
    return found[0].sentence if found else ""


class SanitizerLedger(NvidiaLedger):
    """NVIDIA's ledger, with what the tool has found since a mark.

    All work has ended when a mark is taken, and when the incidents since then are asked for. A finding that comes in
    between is of no launch that is looked at, be it late or of bitgate's own kernels: ``mark`` raises HipError, so that
    none passes unseen.
    """

    def __init__(self, path: str, handle: CDLL, log: Path) -> None:
        super().__init__(path, handle)
        self._log = log
        self._read = log.stat().st_size if log.exists() else 0

    def mark(self) -> int:
        if found := self._taken(0.0):
            raise HipError("SANITIZER", f"reported outside of the launches of a case: {found[0].fault.text}", "its log")
        return super().mark()

    def since(self, mark: int) -> Sequence[Incident]:
        found = self._taken(QUIET_SECONDS)
        if failed := next((one for one in found if one.is_own_failure), None):
            raise HipError("SANITIZER", f"it failed itself: {failed.fault.text}", "its log")
        return [*(Incident(one.fault.text, fault=one.fault) for one in found), *super().since(mark)]

    def _taken(self, quiet: float) -> list[SanitizerFinding]:
        """Return what has been written, once nothing more has been for ``quiet`` seconds."""
        end = time.monotonic() + MOST_SECONDS
        data = self._new()
        while quiet and time.monotonic() < end:
            time.sleep(quiet)
            if not (more := self._new()):
                break
            data += more
        return parse(data.decode("utf-8", "replace"))

    def _new(self) -> bytes:
        try:
            with self._log.open("rb") as file:
                file.seek(self._read)
                data = file.read(_MOST_BYTES)
        except FileNotFoundError:
            return b""
        data = data[: data.rfind(b"\n") + 1]  # a line without its end is still being written
        self._read += len(data)
        return data


def ledger_of(path: str, handle: CDLL) -> NvidiaLedger:
    """Return the ledger of NVIDIA's platform, which reads the tool's log where this process runs under one."""
    log = os.environ.get(compute_sanitizer.LOG, "")
    return SanitizerLedger(path, handle, Path(log)) if log else NvidiaLedger(path, handle)
