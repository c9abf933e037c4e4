"""A caller's time is up when it is up, but for a launch that is under way: whether it hangs must show."""

from __future__ import annotations

from time import monotonic

import pytest

from bitgate.verify.deadline import DATA, LAUNCH, LOOK, Deadline
from bitgate.worker.worker import Request


@pytest.fixture
def asked() -> Request:
    return Request("nonce", 5.0, monotonic() + 5.0)


def test_a_launch_under_way_is_waited_for_and_nothing_behind_it(asked: Request) -> None:
    due, patience = asked.deadline, Deadline(5.0, launch=30.0, more=20.0)
    patience.begins(asked)
    patience.hears(DATA)
    assert (patience.stage, asked.deadline) == (DATA, due)
    patience.hears(LAUNCH)
    assert due + 10 < asked.deadline <= monotonic() + 20
    patience.hears(LOOK)
    assert (patience.stage, asked.deadline) == (LOOK, due)


def test_a_launch_has_its_time_in_all(asked: Request) -> None:
    patience = Deadline(500.0, launch=30.0, more=20.0)
    asked.deadline = monotonic() + 500.0
    patience.begins(asked)
    patience.hears(LAUNCH)
    assert asked.deadline > monotonic() + 400, "a long patience is not made shorter"


def test_only_a_launch_hangs(asked: Request) -> None:
    patience = Deadline(5.0, launch=0.0)
    patience.begins(asked)
    patience.hears(LOOK)
    assert not patience.hangs
    patience.hears(LAUNCH)
    assert patience.hangs
    assert not Deadline(5.0, launch=30.0, stage=LAUNCH).hangs
