"""A child process for the operating system: descriptors, output, how it ended, and the end of all that it started."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bitgate
from bitgate.worker import zygote
from bitgate.worker.endable import Endable
from bitgate.worker.entry import STACKS, TOKEN
from bitgate.worker.handover import Handover
from bitgate.worker.process import ExecutedProcess, StartedProcess
from bitgate.worker.zygote import Birth, forked

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

STACKS_SECONDS = 0.3
EXIT_SECONDS = 1.0
"""Time for a child that closed its channel to end."""
GOODBYE_SECONDS = 2.0
MOST_READS = 16
"""Reads of 64 KiB of output before the parent looks at the clock again."""

Output = Callable[[bytes], None]
"""Receives what the child and its kernels print."""


class Child(Endable):
    """A running child process: bytes go to it and come from it on private pipes, and what it prints goes to ``output``.

    ``entry`` is the ``module:function`` that the child calls. A ``bare`` child has the standard library only, and
    starts in a few dozen milliseconds. One with ``preload`` is a copy of a zygote (zygote.py), which has imported these
    modules, or called these functions; with ``has_zygote`` its children are copies, too. One ``under`` a command is
    started by that, and is no copy. Its ``inbox`` holds what has arrived. Not for several threads.
    """

    def __init__(
        self,
        entry: str,
        output: Output,
        token: str,
        environment: Mapping[str, str],
        bare: bool,
        passes: Sequence[int] = (),
        preload: tuple[str, ...] = (),
        has_zygote: bool = False,
        under: Sequence[str] = (),
    ) -> None:
        self.inbox = bytearray()
        self.is_open = True
        """False once ``end`` was called."""
        self._output, self._token = output, token
        questions, self._questions = os.pipe()
        self._answers, answers = os.pipe()
        self._printed, prints = os.pipe()
        try:
            given = {questions: questions, answers: answers, **{one: one for one in passes}}
            birth = Birth(entry, preload, token, environment, {**given, 1: prints, 2: prints}, has_zygote)
            self._handover = Handover(tuple(given), f"{TOKEN}={token}".encode()) if under else None
            own = [str(questions), str(answers)] if self._handover is None else [f"@{self._handover.name}"]
            self._process: StartedProcess = (preload and not under and forked(birth, _zygote)) or ExecutedProcess(
                started(
                    [*under, *_python(bare), entry, *own],
                    stdout=prints,
                    stderr=prints,
                    env={**environment, TOKEN: token},
                    pass_fds=() if under else tuple(given),
                )
            )
        finally:
            for descriptor in (questions, answers, prints):
                os.close(descriptor)
        self._death = self._process.death
        self._selector = selectors.DefaultSelector()
        for descriptor in self._descriptors:
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ)

    @property
    def is_alive(self) -> bool:
        return self.is_open and self._process.poll() is None

    @property
    def bell(self) -> int:
        """A descriptor that can be read when the child has sent or printed something, or has ended."""
        return self._selector.fileno()

    def send(self, data: bytes) -> None:
        """Write the data to the child; one that has ended is left alone."""
        with suppress(BrokenPipeError):
            while data and self.is_open:
                data = data[os.write(self._questions, data) :]

    def collect(self) -> None:
        """Take into the inbox what has arrived."""
        with suppress(BlockingIOError):
            self.inbox += os.read(self._answers, 1 << 20)

    def take_in(self, seconds: float) -> tuple[bool, bool]:
        """Wait up to ``seconds`` and take in what the child sends and prints.

        Returns
        -------
        Whether there was anything, and whether the child has ended or closed its channel.
        """
        ready = {key.fd for key, _ in self._selector.select(seconds)}
        has_ended = False
        if self._printed in ready:
            self.drain()
        if self._answers in ready:
            data = os.read(self._answers, 1 << 20)
            self.inbox += data
            has_ended = not data
        elif self._death in ready or self._death < 0:
            has_ended = self._process.poll() is not None
        return bool(ready), has_ended

    def stopped_by(self) -> str:
        """Return the name of the signal that has stopped the child; empty if none has."""
        number = self._process.stopped_by()
        return signal_name(number) if number else ""

    def print_stacks(self) -> None:
        """Make the child print where its threads are."""
        self._process.signal(STACKS)
        end = time.monotonic() + STACKS_SECONDS
        while (left := end - time.monotonic()) > 0:
            if self._selector.select(left):
                self.drain()
                time.sleep(0.01)

    def exit_status(self) -> int | None:
        """Return the exit code, or minus the signal; None if the child is still running after a moment."""
        return self._process.wait(EXIT_SECONDS)

    def end(self) -> None:
        """End the child and everything that it has started. A second call does nothing."""
        if not self.is_open:
            return
        self.is_open = False
        if self._handover is not None:
            self._handover.close()
        with suppress(OSError):
            os.close(self._questions)  # an idle child leaves by itself
        self._process.kill_group()
        kill_marked(TOKEN, self._token)
        self.drain()
        self._selector.close()
        for descriptor in (self._answers, self._printed):
            os.close(descriptor)
        self._process.close()

    def drain(self) -> None:
        with suppress(BlockingIOError):
            for _ in range(MOST_READS):
                if not (data := os.read(self._printed, 1 << 16)):
                    break
                self._output(data)
                if len(data) < 1 << 16:
                    return
            else:
                return
            # The other end is closed everywhere: nothing will come, and the selector must not report it again.
            with suppress(KeyError):
                self._selector.unregister(self._printed)

    @property
    def _descriptors(self) -> list[int]:
        return [self._answers, self._printed] + [self._death] * (self._death >= 0)


def kill_marked(variable: str, value: str) -> None:
    """Kill every process that began with this variable of this value, until none is left."""
    needle = f"{variable}={value}".encode()
    end = time.monotonic() + GOODBYE_SECONDS
    while time.monotonic() < end:  # a busy machine takes its time over the dead
        found = [pid for pid in _processes() if needle in _environment(pid).split(b"\0")]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _processes() -> Sequence[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@lru_cache(maxsize=1)
def _lasting_thread() -> ThreadPoolExecutor:
    """Return a thread that stays to the end: a child dies with the thread that started it."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "bitgate-children")


def started(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program that dies with this process, and whose kill(0, ...) does not reach it."""
    start: Any = partial(subprocess.Popen, command, stdin=subprocess.DEVNULL, start_new_session=True, **options)
    is_main = threading.current_thread() is threading.main_thread()
    program: subprocess.Popen[bytes] = start() if is_main else _lasting_thread().submit(start).result()
    return program


def begin_zygote(preload: Sequence[str]) -> None:
    """Let the zygote of this process start, and load what its children will need, before the first is asked for."""
    zygote.begin(preload, _zygote)


def _zygote(command: Sequence[str], connection: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    nowhere = subprocess.DEVNULL
    return started([*command], stdout=nowhere, stderr=nowhere, env=environment, pass_fds=(connection,))


def _python(bare: bool) -> list[str]:
    package = str(Path(bitgate.__file__).resolve().parent.parent)
    code = f"import sys; sys.path.append({package!r}); from bitgate.worker.entry import main; main()"
    return [sys.executable, *(["-S", "-E", "-s"] if bare else []), "-c", code]
