"""The parent's side: starts a child, asks it with a deadline, and ends it with all that it has started."""

from __future__ import annotations

import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bitgate
from bitgate.core.errors import UsageError
from bitgate.worker.channel import LOST
from bitgate.worker.endable import Endable
from bitgate.worker.entry import STACKS

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

TOKEN = "BITGATE_CHILD"
"""Environment variable by which a child's descendants are known, whatever session or parent they gave themselves."""

LARGEST_ANSWER = 64 << 20
LOOK_SECONDS = 0.2
"""How often the parent looks whether a silent child has been stopped."""
STACKS_SECONDS = 0.3
GOODBYE_SECONDS = 2.0
MOST_READS = 16
"""Of 64 KiB, of what is printed, before the parent looks at the clock again."""

Output = Callable[[bytes], None]
"""Hears what the child and its kernels print."""


class WorkerDied(Exception):
    """The child came to an end instead of an answer. ``hung``: it had to be ended, ``late``: because its time was up;
    ``status``: its exit code, or minus the signal that it died of, if it ended by itself."""

    def __init__(self, reason: str, *, hung: bool = False, late: bool = False, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hung = hung
        self.late = late
        self.status = status


@dataclass(eq=False)
class Request:
    """A question that is under way: its answer bears the nonce, and is late from ``deadline`` on, ``seconds`` after
    it was put, or after a note that has given it more."""

    nonce: str
    seconds: float
    deadline: float

    def starts(self, seconds: float | None = None) -> None:
        """Its time, or another, counts from now."""
        self.seconds = self.seconds if seconds is None else seconds
        self.deadline = time.monotonic() + self.seconds


class Worker(Endable):
    """``entry`` is the ``module:function`` that answers in the child. ``bare``: standard library only, which starts in
    a few dozen ms. Not for several threads."""

    def __init__(
        self, entry: str, output: Output, *, bare: bool = False, environment: Mapping[str, str] | None = None
    ) -> None:
        self._output = output
        self._token = secrets.token_hex(16)
        self._inbox = bytearray()
        self._open = True
        questions, self._questions = os.pipe()
        self._answers, answers = os.pipe()
        self._printed, prints = os.pipe()
        try:
            start = partial(
                subprocess.Popen,
                [*_python(bare), entry, str(questions), str(answers)],
                stdin=subprocess.DEVNULL,
                stdout=prints,
                stderr=prints,
                env={**(os.environ if environment is None else environment), TOKEN: self._token},
                pass_fds=(questions, answers),
                start_new_session=True,  # kill(0, ...) is no way to reach the parent
            )
            is_main = threading.current_thread() is threading.main_thread()
            self._process = start() if is_main else _lasting_thread().submit(start).result()
        finally:
            for descriptor in (questions, answers, prints):
                os.close(descriptor)
        self._death = _descriptor_of(self._process.pid)
        self._selector = selectors.DefaultSelector()
        for descriptor in self._descriptors:
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ)

    @property
    def is_usable(self) -> bool:
        """False once the child has ended, or has said something that nobody asked for."""
        if not self._open:
            return False
        with suppress(BlockingIOError):
            self._inbox += os.read(self._answers, 1)
        return not self._inbox and self._process.poll() is None

    @property
    def is_alive(self) -> bool:
        """False once the child has ended."""
        return self._open and self._process.poll() is None

    @property
    def is_open(self) -> bool:
        """False once ``end`` was called: what it had to say is gone with it."""
        return self._open

    @property
    def bell(self) -> int:
        """A descriptor that can be read when there is something for ``hears``."""
        return self._selector.fileno()

    def ask(self, question: Mapping[str, Any], seconds: float, note: Callable[[Any], None] | None = None) -> Any:
        """The child's answer. Ended if it ends, is stopped, talks gibberish or takes longer; it is gone then.

        UsageError if the child says so; RuntimeError with its traceback for a defect of bitgate.
        """
        return self.answer(self.put(question, seconds), note)

    def put(self, question: Mapping[str, Any], seconds: float) -> Request:
        """Ask, and do something else meanwhile. Several questions may be under way: they are answered in their order. A
        child that has ended has left its answers to those before; how it ended the answer to this one says."""
        asked = Request(secrets.token_hex(8), seconds, time.monotonic() + seconds)
        try:
            self._send(json.dumps({"nonce": asked.nonce, **question}).encode() + b"\n")
        except BaseException:  # half a question is none
            self.end()
            raise
        return asked

    def answer(self, asked: Request, note: Callable[[Any], None] | None = None) -> Any:
        """The answer to what was put. One that is there is not late, whenever it is fetched. Who breaks off, by Ctrl-C
        or a deadline of his own, ends the child: its answer would be taken for that to the next question."""
        try:
            answer = self._reply(asked, note)
        except BaseException:
            self.end()
            raise
        if "usage" in answer:
            raise UsageError(str(answer["usage"]))
        if "error" in answer:
            raise RuntimeError(str(answer["error"]))
        return answer.get("answer")

    def _reply(self, asked: Request, note: Callable[[Any], None] | None) -> dict[str, Any]:
        if not self._open:
            raise WorkerDied("its process was ended before it answered")
        with suppress(BlockingIOError):
            self._inbox += os.read(self._answers, 1 << 20)
        while True:
            answer = self._line(asked.deadline, asked.seconds)
            if not isinstance(answer, dict) or answer.get("nonce") != asked.nonce:
                raise WorkerDied("it wrote into the channel that its verdict comes through")
            if "note" not in answer:
                return answer
            _hear(asked, answer, note)

    def hears(self, asked: Request, note: Callable[[Any], None] | None = None, *, silent: bool = False) -> bool:
        """Would ``answer`` come back at once, with an answer or with how the child ended? ``silent``: nothing was heard
        of it for a while, so has it been stopped?"""
        if self._has_answer(asked, note):
            return True
        try:
            heard = self._take_in(0.0)  # once: who prints without end is not to be listened to without end
        except WorkerDied:
            return True  # ``answer`` meets it again
        if self._has_answer(asked, note) or time.monotonic() >= asked.deadline:
            return True
        return silent and not heard and bool(self._stopped_by())

    def _has_answer(self, asked: Request, note: Callable[[Any], None] | None) -> bool:
        """Is a line there that is no note on the way to the answer?"""
        prefix = b'{"nonce":"%s","note":' % asked.nonce.encode()
        while (end := self._inbox.find(b"\n")) >= 0:
            if not self._inbox.startswith(prefix):
                return True
            line = bytes(self._inbox[:end])
            del self._inbox[: end + 1]
            if isinstance(said := _parsed(line), dict):
                _hear(asked, said, note)
        return False

    def end(self) -> None:
        """End the child and everything that it has started. A second call does nothing."""
        if not self._open:
            return
        self._open = False
        with suppress(OSError):
            os.close(self._questions)  # an idle child leaves by itself
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        kill_descendants(self._token)
        self._drain()
        self._selector.close()
        for descriptor in self._descriptors:
            os.close(descriptor)

    @property
    def _descriptors(self) -> list[int]:
        return [self._answers, self._printed] + [self._death] * (self._death >= 0)

    def _send(self, data: bytes) -> None:
        with suppress(BrokenPipeError):
            while data and self._open:
                data = data[os.write(self._questions, data) :]

    def _line(self, deadline: float, seconds: float) -> Any:
        """The next line of the channel as JSON; None if it is none."""
        while b"\n" not in self._inbox:
            if len(self._inbox) > LARGEST_ANSWER:
                raise WorkerDied("it wrote into the channel that its verdict comes through")
            self._wait(deadline, seconds)
        line, _, rest = self._inbox.partition(b"\n")
        self._inbox = bytearray(rest)
        return _parsed(line)

    def _wait(self, deadline: float, seconds: float) -> None:
        """Until something has arrived in the inbox. Raises Ended."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._late(seconds)
        if not self._take_in(min(left, LOOK_SECONDS)) and (stopped := self._stopped_by()):
            raise WorkerDied(f"its process was stopped by {stopped}", hung=True)

    def _take_in(self, seconds: float) -> bool:
        """Hear what the child says and prints within so many seconds; False if it is nothing. Raises Ended."""
        ready = {key.fd for key, _ in self._selector.select(seconds)}
        if self._printed in ready:
            self._drain()
        if self._answers in ready:
            data = os.read(self._answers, 1 << 20)
            if not data:
                raise self._end_of_it()
            self._inbox += data
        elif self._death in ready or (self._death < 0 and self._process.poll() is not None):
            raise self._end_of_it()
        return bool(ready)

    def _stopped_by(self) -> str:
        state = os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        return signal.Signals(state.si_status).name if state is not None else ""

    def _late(self, seconds: float) -> WorkerDied:
        """Out of time: where did it stand?"""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, STACKS)
        end = time.monotonic() + STACKS_SECONDS
        while (left := end - time.monotonic()) > 0:
            if self._selector.select(left):
                self._drain()
                time.sleep(0.01)
        return WorkerDied(f"no verdict within {seconds:g} s", hung=True, late=True)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            for _ in range(MOST_READS):
                if not (data := os.read(self._printed, 1 << 16)):
                    break
                self._output(data)
                if len(data) < 1 << 16:
                    return
            else:
                return
            # Nobody holds the other end any more: nothing will come, and it must not wake us again.
            with suppress(KeyError):
                self._selector.unregister(self._printed)

    def _end_of_it(self) -> WorkerDied:
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return WorkerDied("it closed the channel that its verdict comes through")
        if status == LOST:
            return WorkerDied("it closed or replaced the channel that its verdict comes through")
        if status < 0:
            return WorkerDied(f"its process died of {signal_name(-status)}", status=status)
        return WorkerDied(f"its process ended with exit code {status} and no verdict", status=status)


def _hear(asked: Request, said: dict[str, Any], note: Callable[[Any], None] | None) -> None:
    """A note on the way to the answer."""
    if isinstance(seconds := said.get("seconds"), (int, float)):
        asked.starts(seconds)
    if note is not None:
        note(said.get("note"))


def _parsed(line: bytes | bytearray) -> Any:
    """A line of the channel; None if it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _descriptor_of(process: int) -> int:
    """Readable once the process has ended; -1 where a sandbox forbids that, and the end is looked for now and then."""
    try:
        return os.pidfd_open(process)
    except OSError:
        return -1


def kill_descendants(token: str) -> None:
    """Kill every process whose environment holds the token, until none is left."""
    kill_marked(TOKEN, token)


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
    """A child dies with its parent, which for the system is the thread that started it: this one stays to the end."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "bitgate-children")


def _python(bare: bool) -> list[str]:
    package = str(Path(bitgate.__file__).resolve().parent.parent)
    code = f"import sys; sys.path.append({package!r}); from bitgate.worker.entry import main; main()"
    return [sys.executable, *(["-S", "-E", "-s"] if bare else []), "-c", code]
