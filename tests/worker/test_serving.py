"""A child with typed messages says which one it begins with: an end before that is not of the next one's making."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.worker import Worker, WorkerDied


class AnswerAndLeave(serving.Message):
    """Answered, and the process ends a moment later."""


class Leave(serving.Message):
    """The process ends instead of an answer."""


def serve(channel: Channel) -> None:
    def answer_and_leave(_: AnswerAndLeave) -> None:
        channel._send({"answer": "well"})
        time.sleep(0.2)
        os._exit(0)

    serving.serve(channel, {AnswerAndLeave: answer_and_leave, Leave: lambda _: os._exit(0)})


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker(f"{__name__}:serve", lambda data: None) as one:
        yield one


def ended(worker: Worker, question: serving.Message) -> WorkerDied:
    with pytest.raises(WorkerDied) as raised:
        worker.ask(question, 10.0)
    return raised.value


def test_an_end_belongs_to_the_request_that_had_begun(worker: Any) -> None:
    assert ended(worker, Leave()).had_begun


def test_an_end_before_a_request_began_is_not_its_own(worker: Any) -> None:
    assert worker.ask(AnswerAndLeave(), 10.0) == "well"
    late = ended(worker, Leave())
    assert (late.status, late.had_begun) == (0, False)
    assert ended(worker, Leave()).had_begun, "in the next process"
