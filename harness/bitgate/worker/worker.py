"""A child process that is asked: each request has a deadline, and its end is put down to the request it was at."""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import MsgspecError, Struct, ValidationError, convert, json

from bitgate.core import memory_group
from bitgate.core.errors import UsageError
from bitgate.worker import limits
from bitgate.worker.channel import LOST
from bitgate.worker.child import Child, Output, signal_name
from bitgate.worker.endable import Endable

LARGEST_ANSWER = 64 << 20
LOOK_SECONDS = 0.2
"""How often the parent looks whether a silent child has been stopped."""

FORGED = "it wrote into the channel that its verdict comes through"
CLOSED = "it closed or replaced the channel that its verdict comes through"

Question = Struct | Mapping[str, Any]
"""A tagged Struct where the child has ``serving.serve``; a mapping where it is bare."""

HearNote = Callable[[Any], None]


class WorkerDied(Exception):
    """The end of a child instead of an answer.

    ``hung``: it had to be ended, ``late``: because its time was up; ``status``: its exit code, or minus the signal
    that it died of, if it ended by itself; ``out_of_memory``: the system's kernel killed it; ``at``: the request that
    it was at, ``at_opening``: that was its opening, ``had_begun``: the child had said that it begins with it.
    """

    def __init__(self, reason: str, *, hung: bool = False, late: bool = False, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hung = hung
        self.late = late
        self.status = status
        self.out_of_memory = False
        self.at: Request | None = None
        self.at_opening = False
        self.had_begun = False


@dataclass(eq=False)
class Request:
    """A question under way: its answer bears the nonce, and is late ``seconds`` after all before it were answered, or
    after a note that has given it more time."""

    nonce: str
    seconds: float
    deadline: float
    note: HearNote | None = None
    begun: float = 0.0
    """When all before it were answered (monotonic seconds)."""
    is_taken: bool = False
    """Has the child said that it begins with it? Only one with ``serving.serve`` does."""
    reply: dict[str, Any] | WorkerDied | None = None

    def starts(self, seconds: float | None = None) -> None:
        """Count its time, or another, from now."""
        self.seconds = self.seconds if seconds is None else seconds
        self.begun = time.monotonic()
        self.deadline = self.begun + self.seconds


class Worker(Endable):
    """A child process that answers requests in their order, and is started again for the next one once it has ended.

    ``entry``, ``bare``, ``preload``, ``has_zygote`` and ``under`` as of ``Child``. ``opening`` is the question that
    each new process is asked first, with ``opening_seconds`` for its answer; what it raises is raised for the requests
    after it. It gets the descriptors ``passes``, and is known by ``token`` (``entry.TOKEN``). A note of one that
    ``may_extend`` gives its request more time: no user's code runs there. Not for several threads.
    """

    def __init__(
        self,
        entry: str,
        output: Output,
        *,
        opening: Question | None = None,
        opening_seconds: float = 60.0,
        hear: HearNote | None = None,
        bare: bool = False,
        environment: Mapping[str, str] | None = None,
        passes: Sequence[int] = (),
        token: str = "",
        preload: tuple[str, ...] = (),
        has_zygote: bool = False,
        under: Sequence[str] = (),
        may_extend: bool = False,
    ) -> None:
        self.opening, self._opening_seconds, self._hear = opening, opening_seconds, hear
        self._entry, self._output, self._bare = entry, output, bare
        self._environment = environment
        self._token = token or secrets.token_hex(16)
        self._passes, self._preload, self._has_zygote = tuple(passes), preload, has_zygote
        self._under = tuple(under)
        self._may_extend = may_extend
        self._child: Child | None = None
        self._under_way: deque[Request] = deque()
        self._opened: Request | None = None
        self.number = 0
        """How many processes it has been."""
        self._kills = 0

    def also_prints_to(self, output: Output) -> None:
        """Let ``output`` receive what is printed from now on, too."""
        first = self._output

        def both(data: bytes) -> None:
            output(data)
            first(data)

        self._output = both

    # ---- the process

    def start(self) -> None:
        """Start a new process, which knows nothing yet. OSError if the system has none."""
        self.end()
        self._child = Child(
            self._entry,
            lambda data: self._output(data),
            self._token,
            self.environment,
            self._bare,
            self._passes,
            self._preload,
            self._has_zygote,
            self._under,
        )
        self._opened = None
        self.number += 1
        self._kills = _memory_kills()

    def end(self) -> None:
        """End the process and everything that it has started: what was put to it is lost."""
        self._lose(WorkerDied("its process was ended before it answered"))

    @property
    def is_alive(self) -> bool:
        """Does a process run?"""
        return self._child is not None and self._child.is_alive

    @property
    def is_usable(self) -> bool:
        """Would the next request be put to the process that runs? One that has sent what was not asked for is none."""
        if self._child is None:
            return False
        if self._under_way:
            return True  # it may have left answers
        self._child.collect()
        return not self._child.inbox and self._child.is_alive

    @property
    def is_open(self) -> bool:
        """False once the process was ended here: what it was given is lost."""
        return self._child is not None

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of its next process."""
        return os.environ if self._environment is None else self._environment

    @property
    def has_begun(self) -> bool:
        """Was the process given its opening?"""
        return self._opened is not None

    @property
    def bell(self) -> int:
        """A descriptor that can be read when there is something for ``hears``; -1 without a process."""
        return -1 if self._child is None else self._child.bell

    # ---- requests

    def ask(self, question: Question, seconds: float, note: HearNote | None = None, into: Any = Any) -> Any:
        """Return the answer as ``into``. WorkerDied if the child ends, is stopped, answers something else or takes
        longer; it is gone then. UsageError if the child says so; RuntimeError with its traceback for a defect of
        bitgate."""
        said = self.answer(self.put(question, seconds, note))
        try:
            return convert(said, into)
        except ValidationError as error:
            self.end()
            raise WorkerDied(f"its process answered with no verdict: {error}") from None

    def put(self, question: Question, seconds: float, note: HearNote | None = None, *, early: bool = False) -> Request:
        """Ask, and do something else meanwhile; ``early``: ahead of the opening. Several requests may be under way: a
        child that has ended has left its answers to those before."""
        if not self.is_usable:
            self.start()
        if not self.has_begun and not early:
            self._open()
        return self._put(question, seconds, note)

    def begin(self) -> None:
        """Let the process open, without waiting for it."""
        if not self.is_usable:
            self.start()
        if not self.has_begun:
            self._open()

    def opened(self) -> Any:
        """Return what the process answered to its opening."""
        self.begin()
        return None if self._opened is None else self.answer(self._opened)

    def _open(self) -> None:
        if self.opening is not None:
            self._opened = self._put(self.opening, self._opening_seconds, self._hear)

    def answer(self, asked: Request) -> Any:
        """Return the answer to what was put. One that has arrived is not late, whenever it is fetched. On interruption
        the child is ended; otherwise its late reply could be taken for that to the next request."""
        try:
            if asked.reply is None and self._child is not None:
                self._child.collect()
                self._advance()
            while asked.reply is None:
                self._wait(self._under_way[0])
        except WorkerDied as ended:
            self._lose(ended)
        except BaseException:
            self.end()
            raise
        reply = asked.reply
        assert reply is not None
        if isinstance(reply, WorkerDied):
            raise reply
        if "usage" in reply:
            raise UsageError(str(reply["usage"]))
        if "error" in reply:
            raise RuntimeError(str(reply["error"]))
        return reply.get("answer")

    def hears(self, asked: Request, *, silent: bool = False) -> bool:
        """Would ``answer`` come back at once, with an answer or with how the child ended? ``silent``: nothing was heard
        of it for a while, so has it been stopped?"""
        if asked.reply is not None or self._child is None:
            return True
        try:
            self._advance()
            if asked.reply is not None:
                return True
            heard = self._take_in(self._child, 0.0)  # once: a child may print without end
            if asked.reply is not None or time.monotonic() >= self._under_way[0].deadline:
                return True
        except WorkerDied:
            return True  # ``answer`` meets it again
        return silent and not heard and bool(self._child.stopped_by())

    def _put(self, question: Question, seconds: float, note: HearNote | None) -> Request:
        assert self._child is not None
        asked = Request(secrets.token_hex(8), seconds, 0.0, note)
        asked.starts()
        self._under_way.append(asked)
        try:
            self._child.send(asked.nonce.encode() + b" " + json.encode(question) + b"\n")
        except BaseException:  # half a question is none
            self.end()
            raise
        return asked

    def _lose(self, ended: WorkerDied) -> None:
        """End the child, and its requests under way: the first is what it was at."""
        limits.restore()  # to end a child takes descriptors
        child, self._child = self._child, None
        if self._under_way:
            ended.at = self._under_way[0]
            ended.at_opening = ended.at is self._opened
            ended.had_begun = ended.at.is_taken
        for asked in self._under_way:
            asked.reply = ended
        self._under_way.clear()
        if child is not None:
            child.end()

    def _wait(self, first: Request) -> None:
        """Wait until something has arrived. Raises WorkerDied."""
        child = self._child
        assert child is not None
        left = first.deadline - time.monotonic()
        if left <= 0:
            child.print_stacks()
            raise WorkerDied(f"no verdict within {first.seconds:g} s", hung=True, late=True)
        if not self._take_in(child, min(left, LOOK_SECONDS)) and (stopped := child.stopped_by()):
            raise WorkerDied(f"its process was stopped by {stopped}", hung=True)

    def _take_in(self, child: Child, seconds: float) -> bool:
        heard, has_ended = child.take_in(seconds)
        self._advance()
        if has_ended:
            raise self._explained(_end_of(child))
        return heard

    def _explained(self, ended: WorkerDied) -> WorkerDied:
        """Return the end of the child, with its cause if the system's kernel killed it for lack of memory."""
        if ended.status == -signal.SIGKILL and _memory_kills() > self._kills:
            _CLAIMED.append(ended)
            ended.out_of_memory = True
            ended.reason = f"out of memory: {ended.reason}, sent by the kernel, which had no memory left for it"
        return ended

    def _advance(self) -> None:
        """Give the lines that have arrived to the requests that they answer. Raises WorkerDied for a line that is none:
        it stays, so that the next call raises again."""
        assert self._child is not None
        inbox = self._child.inbox
        while self._under_way and (end := inbox.find(b"\n")) >= 0:
            first = self._under_way[0]
            said = _parsed(inbox[:end])
            if not isinstance(said, dict) or said.get("nonce") != first.nonce:
                raise WorkerDied(FORGED)
            del inbox[: end + 1]
            if "begins" in said:
                first.is_taken = True
            elif "note" in said:
                if self._may_extend and isinstance(seconds := said.get("seconds"), (int, float)):
                    first.starts(seconds)
                if first.note is not None:
                    first.note(said["note"])
            else:
                self._reply(first, said)
        if self._under_way and len(inbox) > LARGEST_ANSWER:
            raise WorkerDied(FORGED)

    def _reply(self, first: Request, said: dict[str, Any]) -> None:
        limits.restore()
        self._under_way.popleft()
        first.reply = said
        if first is self._opened and "answer" not in said:  # all after it need an open process
            for asked in self._under_way:
                asked.reply = said
            self._under_way.clear()
            self.end()
        elif self._under_way:
            self._under_way[0].starts()


_CLAIMED: list[WorkerDied] = []
"""Ends of children that a kill for lack of memory has explained: each explains one, whichever worker's it was."""


def _memory_kills() -> int:
    """Return the kills for lack of memory that explain no child's end so far."""
    return (memory_group.kills() or 0) - len(_CLAIMED)


def _parsed(line: bytes | bytearray) -> Any:
    """Return a line of the channel; None if it is none."""
    try:
        return json.decode(line)
    except (MsgspecError, ValueError, RecursionError):
        return None


def _end_of(child: Child) -> WorkerDied:
    status = child.exit_status()
    if status is None:
        return WorkerDied("it closed the channel that its verdict comes through")
    if status == LOST:
        return WorkerDied(CLOSED)
    if status < 0:
        return WorkerDied(f"its process died of {signal_name(-status)}", status=status)
    return WorkerDied(f"its process ended with exit code {status} and no verdict", status=status)
