"""The child's end of the private channel: questions and answers, JSON lines on two pipes of their own.

Each answer carries the nonce of its question. A kernel shares the child's process and can write into any descriptor;
what it writes there is no answer, and ends its case. Standard library only: a library's probe starts with it.
"""

from __future__ import annotations

import json
import os
from typing import Any

LOST = 87
"""Exit status of a child that can no longer answer: its descriptor was closed, replaced, or is another process's."""


class Channel:
    """``questions`` is read, ``answers`` is written; neither outlives an exec."""

    def __init__(self, questions: int, answers: int) -> None:
        self._questions = os.fdopen(questions, "rb")
        self._answers = answers
        os.set_inheritable(questions, False)
        os.set_inheritable(answers, False)
        self._owner = os.getpid()
        self._identity = _identity(answers)
        self._nonce = ""

    def next(self) -> dict[str, Any] | None:
        """The next question; None once the parent has closed its end."""
        line = self._questions.readline()
        if not line:
            return None
        question: dict[str, Any] = json.loads(line)
        self._nonce = question.pop("nonce")
        return question

    def note(self, value: Any, seconds: float | None = None) -> None:
        """Something on the way to the answer: a line of progress. ``seconds``: the answer is late so long after it, and
        not before."""
        self._send({"note": value} if seconds is None else {"note": value, "seconds": seconds})

    def answer(self, value: Any) -> None:
        self._send({"answer": value})

    def usage(self, text: str) -> None:
        """The question was the user's mistake."""
        self._send({"usage": text})

    def error(self, text: str) -> None:
        """bitgate's own defect: its traceback."""
        self._send({"error": text})

    def _send(self, value: dict[str, Any]) -> None:
        # A kernel may have forked: the copy believes to be us, and must not answer in our place.
        if os.getpid() != self._owner or _identity(self._answers) != self._identity:
            os._exit(LOST)
        data = json.dumps({"nonce": self._nonce, **value}, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._answers, data) :]
        except OSError:
            os._exit(LOST)


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino
