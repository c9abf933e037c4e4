"""Compiler processes that die with the build: Ctrl-C or a first error leaves none running."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bitgate.kernel.build.flags import SANITIZE
from bitgate.worker import sandbox
from bitgate.worker.limits import bound_memory

MOST_BYTES = 16 << 30
"""The memory of a compiler: a source that includes what has no end takes no more."""
MOST_SECONDS, FOREIGN_SECONDS = 900.0, 120.0
"""The time of a compiler, also of one that waits, such as for a pipe: of any source, and of one of unknown authors."""


@dataclass(frozen=True)
class ProcessResult:
    """The end of a process: ``code`` as subprocess gives it (negative: the signal), and its whole output."""

    code: int
    output: str


class Processes:
    """The compiler processes of a build, run from several threads; ``stop`` kills those that run and refuses more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def run(self, command: Sequence[str], env: Mapping[str, str]) -> ProcessResult | None:
        """Run to the end; None once ``stop`` was called. OSError if the program cannot be started."""
        with self._lock:
            if self._stopped:
                return None
            # A new session: a terminal's Ctrl-C reaches bitgate alone; one signal ends the driver with its children.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**_environment(), **env},
                start_new_session=True,
            )
            self._running.add(process)
            with contextlib.suppress(OSError):  # it has ended
                bound_memory(MOST_BYTES, process.pid)
        seconds = FOREIGN_SECONDS if sandbox.VARIABLE in os.environ else MOST_SECONDS
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            process.returncode = 1  # it is no victim of a lack of memory
            output += f"\nfatal error: {command[0]} did not end within {seconds:g} s\n"
        with self._lock:
            self._running.discard(process)
            return None if self._stopped else ProcessResult(process.returncode, output)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    """Return this process's, without the library of a sanitizer: its shadow memory is beyond a compiler's limit."""
    without = {"LD_PRELOAD"} if os.environ.get(SANITIZE) else set()
    return {name: value for name, value in os.environ.items() if name not in without}
