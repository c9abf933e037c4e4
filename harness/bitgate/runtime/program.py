"""A HIP program on the host runtime, started as anywhere else, and what the runtime has seen of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.runtime.host import SCHEDULES, parse_schedule, source_line

VARIABLE = "BITGATE_EXEC"
"""Settings of the library that is loaded before the program: descriptor of the report, schedule, its seed, lanes of a
wave, and whether it goes on after a fault."""


@dataclass(frozen=True)
class ProgramExit:
    """The end of a program: ``code`` is its exit code, negative for the signal that ended it.

    ``incidents`` are sentences of the latest ones, ``count`` is of all. ``waiting`` describes work that was never
    waited for, empty if there is none. ``reported`` is true if the program ended normally, so that the runtime could
    report. ``out`` is what it printed, where that was captured.
    """

    schedule: str
    code: int
    count: int
    incidents: tuple[str, ...]
    waiting: str
    reported: bool
    out: bytes = b""


@dataclass(frozen=True)
class WatchedRuntime:
    """A runtime for programs, with the library that watches them."""

    runtime: Path
    watch: Path
    wave: int
    """Lanes of a wave; 0: as many as the program asks for."""
    keeps_going: bool = False
    """True if the program goes on after a fault."""

    def run(self, command: Sequence[str], schedule: str, *, caught: bool) -> ProgramExit:
        """Run the command once. Raises UsageError if the program cannot be started."""
        kind, seed = parse_schedule(schedule)
        with tempfile.TemporaryFile() as report, tempfile.TemporaryFile() as out:
            settings = f"{report.fileno()} {SCHEDULES[kind]} {seed} {self.wave} {int(self.keeps_going)}"
            process = self._start(command, settings, report.fileno(), out.fileno() if caught else None)
            code = _wait(process)
            report.seek(0)
            out.seek(0)
            report_lines = report.read().decode(errors="replace").splitlines()
            end = _parse_report(schedule, code, report_lines, command[0], out.read())
            return _each_line_once(end) if self.keeps_going else end

    def _start(self, command: Sequence[str], settings: str, report: int, out: int | None) -> subprocess.Popen[bytes]:
        searched = os.pathsep.join(filter(None, (str(self.runtime.parent), os.environ.get("LD_LIBRARY_PATH"))))
        preloaded = " ".join(filter(None, (str(self.watch), os.environ.get("LD_PRELOAD"))))
        more = {VARIABLE: settings, "LD_LIBRARY_PATH": searched, "LD_PRELOAD": preloaded}
        try:
            return subprocess.Popen(command, env={**os.environ, **more}, pass_fds=(report,), stdout=out)
        except OSError as error:
            hint = "" if os.sep in command[0] else f"; one of this folder is ./{command[0]}"
            raise UsageError(f"{command[0]}: cannot be started: {error.strerror}{hint}") from None


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code. The program has the terminal, so that Ctrl-C reaches it; it does not outlive this call."""
    try:
        return process.wait()
    except BaseException:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def _parse_report(schedule: str, code: int, report_lines: Sequence[str], program: str, out: bytes) -> ProgramExit:
    fields = [line.split(" ", 1) for line in report_lines if " " in line]
    counts = [int(text) for word, text in fields if word == "incidents"]
    incidents = tuple(_with_source_lines(text, program) for word, text in fields if word == "incident")
    waiting = "; ".join(text for word, text in fields if word == "first")
    return ProgramExit(schedule, code, sum(counts), incidents, waiting, bool(counts), out)


def _each_line_once(end: ProgramExit) -> ProgramExit:
    """Keep the first fault of each kernel and line: a line may have several instructions."""
    first: dict[str, str] = {}
    for text in end.incidents:
        found = re.fullmatch(r"(kernel .*?), block .* at (\S+:\d+)", text)
        first.setdefault(f"{found[1]} {found[2]}" if found else text, text)
    return replace(end, incidents=tuple(first.values()), count=end.count - len(end.incidents) + len(first))


def _with_source_lines(text: str, program: str) -> str:
    """Replace ``folder/program+0x12ab`` by ``mine.hip:14``, where there are addr2line and debug information."""
    path = Path(shutil.which(program) or program).resolve()
    place = re.compile(rf"(?:[\w.+-]+/)*{re.escape(path.name)}\+0x([0-9a-f]+)")
    return place.sub(lambda found: source_line(path, found[1]) or found[0], text)
