"""A device that is kept busy, by the real kernel on the host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bitgate.kernel.abi import EventKind
from bitgate.kernel.dispatch import DispatchRecord, LaunchEvent
from bitgate.tools.bench.launches import LEAST_SECONDS, MOST_QUEUED, MOST_SECONDS, SPARE, Clock, QueueGate, most_queued
from bitgate.verify.session import Session


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host")


@pytest.fixture(scope="module")
def clock(session: Session) -> Clock:
    """With events, as a device has."""
    found = Clock(session.opened.device)
    found.by_events = True
    return found


@pytest.fixture(scope="module")
def hold(session: Session, clock: Clock) -> QueueGate:
    return QueueGate(session.opened.device_tools, clock.between_events)


@pytest.mark.parametrize(("launches", "seconds"), [(1, 1e-6), (100, 1e-4), (10, 0.0)])
def test_it_lasts_longer_than_launches_need_to_be_queued(
    clock: Clock, hold: QueueGate, launches: int, seconds: float
) -> None:
    """By half at least: on a machine that is busy the clock is measured less well."""
    hold.begin(0, 0)  # its first call measures the clock
    assert clock.between_events(lambda: hold.begin(launches, seconds)) >= 0.5 * max(LEAST_SECONDS, launches * seconds)


def test_it_ends_though_a_launch_waits_for_the_device(clock: Clock, hold: QueueGate) -> None:
    """Such a launch takes as long as it is held, so that the next hold would be longer for ever."""
    seconds, launches = 1e-4, 100
    for _ in range(20):
        seconds *= SPARE
    assert launches * seconds > 10 * MOST_SECONDS
    assert clock.between_events(lambda: hold.begin(launches, seconds)) < 20 * MOST_SECONDS


def test_a_kernel_of_many_launches_has_fewer_in_a_sample() -> None:
    one = DispatchRecord("k", 1, False, 0, "x1", {}, (), (), ())
    event = LaunchEvent(EventKind.KERNEL, "k", (1, 1, 1), (1, 1, 1), 0, 32, (), b"", 0, 0, 0)
    assert most_queued(None) == most_queued(one) == MOST_QUEUED
    assert most_queued(replace(one, events=(event,) * 4)) == MOST_QUEUED // 4
    assert most_queued(replace(one, events=(event,) * 1000)) == 1
