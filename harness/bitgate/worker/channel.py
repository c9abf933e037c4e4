"""The child's end of the private channel: questions and answers are JSON lines on two separate pipes.

Each answer carries the nonce of its question. A kernel shares the child's process and can write into any descriptor;
what it writes there is no answer, and ends its case. Standard library only, for bare children.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from select import POLLIN, poll
from typing import Any

LOST = 87
"""Exit status of a child that cannot answer any more: its descriptor was closed, replaced, or is another process's."""


class Channel:
    """Two descriptors: ``questions`` is read, ``answers`` is written; neither outlives an exec."""

    def __init__(self, questions: int, answers: int) -> None:
        self._questions = questions
        self._arrivals = poll()
        self._arrivals.register(questions, POLLIN)
        self._heard = bytearray()
        """What has arrived, and was not asked for yet."""
        self._answers = answers
        os.set_inheritable(questions, False)
        os.set_inheritable(answers, False)
        self._owner = os.getpid()
        self._identity = _identity(answers)
        self._nonce = ""
        self.encode: Callable[[Any], bytes] = _encode
        """How an answer is written; a child with more than the standard library has something faster."""

    def next(self) -> dict[str, Any] | None:
        """Return the next question; None once the parent has closed its end."""
        line = self.next_line()
        return None if line is None else dict(json.loads(line))

    def next_line(self) -> bytes | None:
        """Return the next question as JSON; None once the parent has closed its end."""
        while (end := self._heard.find(b"\n")) < 0:
            if not self._hear():
                return None
        nonce, _, question = bytes(self._heard[:end]).partition(b" ")
        del self._heard[: end + 1]
        self._nonce = nonce.decode()
        return question

    def upcoming(self) -> bytes | None:
        """Return the question after this one, if it is here already; it stays the next one."""
        while (end := self._heard.find(b"\n")) < 0:
            if not self._arrivals.poll(0) or not self._hear():
                return None
        return bytes(self._heard[:end]).partition(b" ")[2]

    def _hear(self) -> bool:
        """Take in what arrives; False if the parent has closed its end."""
        data = os.read(self._questions, 1 << 16)
        self._heard += data
        return bool(data)

    def note(self, value: Any, seconds: float | None = None) -> None:
        """Send something ahead of the answer, such as a line of progress. The answer is then late ``seconds`` after it,
        and not before."""
        self._send({"note": value} if seconds is None else {"note": value, "seconds": seconds})

    def begins(self) -> None:
        """Say that this question is at work: an end before that was not at it."""
        self._send({"begins": True})

    def serve(self, handle: Callable[[dict[str, Any]], Any]) -> None:
        """Answer with what ``handle`` returns until the parent has no more questions. A UsageError is the user's
        mistake, an OSError the environment's, any other Exception bitgate's own defect."""
        while (question := self.next()) is not None:
            self.reply(lambda: handle(question))

    def reply(self, answer: Callable[[], Any]) -> None:
        """Send what ``answer`` returns, or what it raises."""
        try:
            self._send({"answer": answer()})
        except Exception as error:
            self._send(_failure(error))

    def _send(self, value: dict[str, Any]) -> None:
        # A kernel may have forked: the copy must not answer in place of this process.
        if os.getpid() != self._owner or _identity(self._answers) != self._identity:
            os._exit(LOST)
        data = self.encode({"nonce": self._nonce, **value}) + b"\n"
        try:
            while data:
                data = data[os.write(self._answers, data) :]
        except OSError:
            os._exit(LOST)


def _encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _failure(error: Exception) -> dict[str, str]:
    from traceback import format_exception  # a bare child is to start in a few dozen milliseconds

    from bitgate.core.errors import UsageError, text_of

    if isinstance(error, (UsageError, OSError)):  # as commands report them
        return {"usage": text_of(error)}
    return {"error": "".join(format_exception(error))}
