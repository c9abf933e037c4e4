"""Compiler processes that die with the build: Ctrl-C, a first error or the end of this process leaves none running."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bitgate.kernel.build.flags import SANITIZE
from bitgate.worker import sandbox
from bitgate.worker.limits import bound_memory

MOST_BYTES, FOREIGN_BYTES = 16 << 30, 4 << 30
"""The memory of a compiler, also of one that includes what has no end: of any source, and of one of unknown authors."""
MOST_SECONDS, FOREIGN_SECONDS = 900.0, 120.0
"""The time of a compiler, also of one that waits, such as for a pipe: of any source, and of one of unknown authors."""


WATCH = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    if line == "end\\n":
        break
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""
"""The program that ends compilers which outlive the process that started them: its input ends with that process, and
with all copies of it."""


class _Watch:
    """A process that has the groups of the compilers which run, and kills them once this process has ended.

    A signal at the parent's death would reach the driver alone, and not the compiler that the driver has started.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watcher: subprocess.Popen[str] | None = None
        self._owner = 0
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()  # another thread may have held it

    def begin(self) -> None:
        """Start the process, if there is none: compilers are to start when it runs."""
        with self._lock:
            if self._owner != os.getpid():  # a copy of the process that had it
                self._watcher, self._owner = self._started(), os.getpid()
                atexit.register(self._end, self._owner, self._watcher)

    def report(self, group: int, runs: bool) -> None:
        with self._lock, contextlib.suppress(BrokenPipeError):  # it was killed
            assert self._watcher is not None
            assert self._watcher.stdin is not None
            self._watcher.stdin.write(f"{'+' if runs else '-'}{group}\n")
            self._watcher.stdin.flush()

    @staticmethod
    def _started() -> subprocess.Popen[str]:
        command, nowhere = [sys.executable, "-IS", "-c", WATCH], subprocess.DEVNULL
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, text=True, start_new_session=True
        )

    @staticmethod
    def _end(owner: int, watcher: subprocess.Popen[str]) -> None:
        if os.getpid() == owner:
            watcher.communicate("end\n")


_watch = _Watch()


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
        is_foreign = sandbox.VARIABLE in os.environ
        seconds, most = (FOREIGN_SECONDS, FOREIGN_BYTES) if is_foreign else (MOST_SECONDS, MOST_BYTES)
        _watch.begin()
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
            _watch.report(process.pid, True)
            with contextlib.suppress(OSError):  # it has ended
                bound_memory(most, process.pid)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            process.returncode = 1  # it is no victim of a lack of memory
            output += f"\nfatal error: {command[0]} did not end within {seconds:g} s\n"
        finally:
            _watch.report(process.pid, False)
        if process.returncode > 0 and "out of memory" in output:
            output += f"\nfatal error: {command[0]} has at most {most >> 30} GiB of memory\n"
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
