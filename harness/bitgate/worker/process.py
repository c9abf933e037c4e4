"""A process that was started, as its parent knows it: its number, how it ended, and what can be waited for."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import time
from abc import ABC, abstractmethod
from contextlib import suppress

EVENT = struct.Struct("=2i")
"""A record that a zygote sends of a child: what happened, and its number."""
STARTED, STOPPED, CONTINUED, ENDED = range(4)
"""What happens to a child. The number is its process, the signal, the signal, and its exit code or minus the signal."""


START_SECONDS = 120.0
"""Time for a zygote to import what a child needs, and to fork it."""
REPORT_SECONDS = 10.0
"""Time for a zygote to report the end of a child that was killed."""


class StartedProcess(ABC):
    """A child process.

    The descriptor ``death`` can be read once it has ended, and now and then before; -1 where a sandbox forbids it.
    """

    death: int

    @property
    @abstractmethod
    def pid(self) -> int:
        """Its number; 0 if it was never started."""

    @abstractmethod
    def poll(self) -> int | None:
        """Return the exit code, or minus the signal; None if it is still running. Its number stays taken."""

    @abstractmethod
    def wait(self, seconds: float | None = None) -> int | None:
        """Wait for the end, for up to ``seconds``, and return as ``poll``."""

    @abstractmethod
    def stopped_by(self) -> int:
        """Return the number of the signal that has stopped it; 0 if none has."""

    @abstractmethod
    def close(self) -> None:
        """Close what is held for it, once it has ended."""

    def signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None and self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill_group(self) -> None:
        """Kill its group of processes, unless it has ended, and wait."""
        if self.poll() is None and self.pid:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        self._wait_for_the_killed()

    def _wait_for_the_killed(self) -> None:
        self.wait()


class ExecutedProcess(StartedProcess):
    """A child that is a program."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self._program = program
        self.death = _descriptor_of(program.pid)

    @property
    def pid(self) -> int:
        return self._program.pid

    def poll(self) -> int | None:
        return self._program.poll()

    def wait(self, seconds: float | None = None) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self._program.wait(seconds)
        return None

    def stopped_by(self) -> int:
        state = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        return state.si_status if state is not None else 0

    def close(self) -> None:
        if self.death >= 0:
            os.close(self.death)


class ForkedProcess(StartedProcess):
    """A zygote's child, of which that sends ``events``. It keeps the number taken until they are closed."""

    def __init__(self, events: socket.socket, zygote: int) -> None:
        self._events, self._zygote = events, zygote
        self.death = events.fileno()
        self._pid = self._stopped_by = 0
        self._descriptor = -1
        self._status: int | None = None

    @property
    def pid(self) -> int:
        end = time.monotonic() + START_SECONDS
        while self.poll() is None and not self._pid:
            if (left := end - time.monotonic()) <= 0:
                os.kill(self._zygote, signal.SIGKILL)
            self._listen(max(left, 1.0))
        return self._pid

    def poll(self) -> int | None:
        while self._status is None:
            try:
                data = self._events.recv(EVENT.size, socket.MSG_DONTWAIT | socket.MSG_PEEK)
            except BlockingIOError:
                return None
            except OSError:
                data = b""
            if not data:
                self._end_without_zygote()
                break
            what, number = EVENT.unpack(data)
            if what == STARTED:
                self._pid, self._descriptor = number, _descriptor_of(number)
            elif what == ENDED:
                self._status = number
                break  # stays unread: ``death`` can be read from now on
            else:
                self._stopped_by = number if what == STOPPED else 0
            self._events.recv(EVENT.size)
        return self._status

    def wait(self, seconds: float | None = None) -> int | None:
        end = None if seconds is None else time.monotonic() + seconds
        while self.poll() is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                break
            self._listen(left)
        return self._status

    def stopped_by(self) -> int:
        return self._stopped_by if self.poll() is None else 0

    def close(self) -> None:
        self._events.close()
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def _end_without_zygote(self) -> None:
        """Kill the process. Its zygote has ended and took it along, unless a kernel prevented that."""
        self._status = -signal.SIGKILL
        with suppress(ProcessLookupError):
            if self._descriptor >= 0:
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
            if self._pid:
                os.killpg(self._pid, signal.SIGKILL)

    def _wait_for_the_killed(self) -> None:
        if self.wait(REPORT_SECONDS) is None:  # a kernel has stopped the zygote
            os.kill(self._zygote, signal.SIGKILL)
            self.wait()

    def _listen(self, seconds: float | None) -> None:
        events = select.poll()
        events.register(self._events, select.POLLIN)
        events.poll(None if seconds is None else seconds * 1000)


def _descriptor_of(process: int) -> int:
    """Return a descriptor that can be read once the process has ended; -1 where a sandbox forbids that."""
    try:
        return os.pidfd_open(process)
    except OSError:
        return -1
