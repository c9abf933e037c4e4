"""The log of an emulator's race detector, and a ledger that reads it: a race is an incident of the launch it was in.

The log is rocjitsu's, as its documents describe it: blocks from a line ``RACE kernel=K symbol=S dispatch=N type=LDS
...`` to a line ``END_RACE``, in which lines with ``==>`` show the two instructions.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitgate.core import emulation
from bitgate.core.untrusted import printable
from bitgate.runtime.errors import HipError
from bitgate.runtime.host import DeviceFault
from bitgate.runtime.ledger import HipLedger, Incident

RACE_FAULT = "race"
_HEAD = re.compile(r"RACE kernel=(?P<kernel>.*?) symbol=(?P<symbol>\S+) dispatch=(?P<dispatch>\d+)(?P<rest>.*)")
_WORD = re.compile(r"(\w+)=(\S+)")
_END, _POINTS_AT = "END_RACE", "==>"
_MOST_BYTES = 16 << 20
"""Bytes of a log that are read at once: a kernel may race at every step."""
_MOST_SHOWN = 300


@dataclass(frozen=True)
class RaceReport:
    """One block of the log: ``facts`` are the words of its first line, ``instructions`` the two that race."""

    kernel: str
    symbol: str
    dispatch: int
    facts: dict[str, str]
    instructions: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The race in one line: kernel, what was reached, and both instructions."""
        kind = self.facts.get("type", "data")
        where = " ".join(f"{name} {self.facts[name]}" for name in ("wg", "wave", "lane", "reg") if name in self.facts)
        pair = " races with ".join(self.instructions) or "the log shows no instructions"
        text = f"race on {kind} in {self.kernel} (dispatch {self.dispatch}, {where or 'of an unknown wave'}): {pair}"
        return printable(text)

    @property
    def fault(self) -> DeviceFault:
        group = tuple(map(int, re.findall(r"\d+", self.facts.get("wg", ""))[:3]))
        block = group if len(group) == 3 else (0, 0, 0)
        lane = self.facts.get("lane", "")
        thread = (int(lane) if lane.isdecimal() else 0, 0, 0)
        is_write = {"write": True, "read": False}.get(self.facts.get("access", ""))
        return DeviceFault(
            RACE_FAULT, 0, self.sentence, self.kernel, block, thread, is_write, 0, 0, self.facts.get("type", ""), 0
        )


def parse(text: str) -> tuple[list[RaceReport], int]:
    """Return the whole blocks of a log, and the number of characters up to the end of the last one.

    A block without an end is still being written.
    """
    found: list[RaceReport] = []
    end = 0
    for block in re.finditer(rf"^RACE .*?^{_END}[^\n]*(?:\n|\Z)", text, re.MULTILINE | re.DOTALL):
        head, *lines = block[0].splitlines()
        end = block.end()
        match = _HEAD.match(head)
        if match is None:
            found.append(RaceReport(head[:_MOST_SHOWN], "", 0, {}, ()))
            continue
        shown = [line.replace(_POINTS_AT, "").strip()[:_MOST_SHOWN] for line in lines if _POINTS_AT in line]
        facts = dict(_WORD.findall(match["rest"]))
        found.append(RaceReport(match["kernel"], match["symbol"], int(match["dispatch"]), facts, tuple(shown[:2])))
    return found, end


class EmulatorLedger(HipLedger):
    """ROCm's ledger, with the races that the emulator's detector has logged since a mark.

    All work has ended when a mark is taken, and when the incidents since then are asked for: what the log got in
    between is of the launches in between. A block that comes later is of an earlier launch, whose verdict is out:
    ``mark`` raises HipError, so that nothing after it passes unseen.
    """

    def __init__(self, hip: Any, log: Path) -> None:
        super().__init__(hip)
        self._log = log
        self._read = self._size()
        self.last: list[RaceReport] = []
        """Those of the launches that were asked about last."""

    def mark(self) -> int:
        if late := self._taken():
            raise HipError("RACE", f"reported late, of an earlier launch: {late[0].sentence}", "the emulator's log")
        return super().mark()

    def since(self, mark: int) -> Sequence[Incident]:
        self.last = self._taken()
        return [*(Incident(one.sentence, fault=one.fault) for one in self.last), *super().since(mark)]

    def _taken(self) -> list[RaceReport]:
        ctypes.CDLL(None).fflush(None)  # the detector may write through C's buffers in this process
        try:
            with self._log.open("rb") as file:
                file.seek(self._read)
                data = file.read(_MOST_BYTES)
        except FileNotFoundError:
            return []
        text = data.decode("latin-1")  # a character a byte
        found, end = parse(text)
        self._read += end
        return found

    def _size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0


def located(reports: Sequence[RaceReport], launches: Sequence[str]) -> str:
    """Return the words for the launch that the first report is about, of those by name that it may be.

    An emulator counts dispatches that are none of a kernel's launches, too. So a number says which launch it was where
    no other has its kernel, or where as many dispatches of that kernel raced as there were launches.
    """
    if not reports or not launches:
        return ""
    first = reports[0]
    named = [at for at, name in enumerate(launches) if name in first.kernel or name in first.symbol]
    places = named or [*range(len(launches))]
    numbers = sorted({one.dispatch for one in reports if one.symbol == first.symbol})
    if len(places) == 1 or len(numbers) == len(places):
        at = places[numbers.index(first.dispatch)] if len(numbers) == len(places) else places[0]
        return f"; launch {at + 1} of {len(launches)}: {launches[at]}"
    return f"; one of launches {places[0] + 1} to {places[-1] + 1} of {len(launches)}"


def ledger_of(hip: Any) -> HipLedger | None:
    """Return the ledger of a process whose emulator watches for races; None for any other."""
    log = os.environ.get(emulation.RACE_LOG, "")
    return EmulatorLedger(hip, Path(log)) if log else None
