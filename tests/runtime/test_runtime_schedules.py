"""The order of threads and blocks is the test's: a missing barrier shows in some order, a right kernel in none."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import Host

Load = Callable[..., ctypes.CDLL]
SCHEDULES = ["forward", "reverse", *(f"random:{seed}" for seed in range(4))]


def reversed_blocks(host: Host, load: Load, schedule: str, barrier: int) -> bytes:
    host.settings.set_schedule(schedule)
    x = host.array(np.arange(4 * 64, dtype=np.float32))
    load("basics").launch_reverse(x.pointer, 0, 4, 64, barrier)
    return x.download(np.float32).tobytes()


def test_a_correct_kernel_gives_the_same_bits_in_every_order(host: Host, load: Load) -> None:
    assert len({reversed_blocks(host, load, schedule, 1) for schedule in SCHEDULES}) == 1


def test_a_removed_barrier_shows_in_every_order_and_differently(host: Host, load: Load) -> None:
    right = reversed_blocks(host, load, "forward", 1)
    wrong = {reversed_blocks(host, load, schedule, 0) for schedule in SCHEDULES}
    assert right not in wrong
    assert len(wrong) == len(SCHEDULES)


def orders(host: Host, load: Load, schedule: str, threads: int) -> np.ndarray:
    """Per block and stretch between barriers: the threads in the order in which they ran."""
    host.settings.set_schedule(schedule)
    host.settings.set_threads(threads)
    counters, order = host.array(np.zeros(8, np.int32)), host.malloc(8 * 2 * 96 * 4)
    load("basics").launch_note_order(counters.pointer, order.pointer, 8, 96)
    return order.download(np.int32).reshape(8, 2, 96)


def test_forward_and_reverse(host: Host, load: Load) -> None:
    assert (orders(host, load, "forward", 2) == np.arange(96)).all()
    assert (orders(host, load, "reverse", 2) == np.arange(96)[::-1]).all()


def test_random_depends_on_seed_block_and_stretch_but_not_on_os_threads(host: Host, load: Load) -> None:
    seen = orders(host, load, "random:7", 1)
    assert (np.sort(seen, axis=-1) == np.arange(96)).all()
    assert len({tuple(stretch) for block in seen for stretch in block}) == 16
    for threads in (1, 2, 4):
        assert np.array_equal(orders(host, load, "random:7", threads), seen)
    assert not np.array_equal(orders(host, load, "random:8", 1), seen)


@pytest.mark.parametrize("blocks", [1, 2, 12, 97, 1000])
def test_blocks_follow_the_schedule_too(host: Host, load: Load, blocks: int) -> None:
    host.settings.set_threads(1)
    seen = {}
    for schedule in ("forward", "reverse", "random:1", "random:2"):
        host.settings.set_schedule(schedule)
        counter, order = host.array(np.zeros(1, np.int32)), host.malloc(blocks * 4)
        load("basics").launch_note_block_order(counter.pointer, order.pointer, blocks)
        seen[schedule] = order.download(np.int32).tolist()
    assert seen["forward"] == list(range(blocks))
    assert seen["reverse"] == list(range(blocks))[::-1]
    assert sorted(seen["random:1"]) == sorted(seen["random:2"]) == list(range(blocks))
    if blocks > 90:
        assert len({tuple(order) for order in seen.values()}) == 4


def test_a_schedule_holds_for_launches_after_it_was_set(host: Host, load: Load) -> None:
    """Work runs late, with the settings of its launch."""
    counters, order = host.array(np.zeros(1, np.int32)), host.malloc(2 * 32 * 4)
    host.settings.set_schedule("reverse")
    load("basics").launch_note_order(counters.pointer, order.pointer, 1, 32)
    host.settings.set_schedule("forward")
    assert order.download(np.int32, 32).tolist() == list(range(32))[::-1]
