"""The order of threads and blocks is the test's: a missing barrier shows in some order, a right kernel in none."""

from __future__ import annotations

import ast
import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import Host

Load = Callable[..., ctypes.CDLL]
SCHEDULES = ["forward", "reverse", "lockstep", *(f"random:{seed}" for seed in range(4))]


def reversed_blocks(host: Host, load: Load, schedule: str, barrier: int) -> bytes:
    host.settings.set_schedule(schedule)
    x = host.array(np.arange(4 * 64, dtype=np.float32))
    load("basics").launch_reverse(x.pointer, 0, 4, 64, barrier)
    return x.download(np.float32).tobytes()


def test_a_correct_kernel_gives_the_same_bits_in_every_order(host: Host, load: Load) -> None:
    assert len({reversed_blocks(host, load, schedule, 1) for schedule in SCHEDULES}) == 1


def test_a_removed_barrier_shows_in_every_order_and_differently(host: Host, load: Load) -> None:
    right = reversed_blocks(host, load, "forward", 1)
    wrong = {schedule: reversed_blocks(host, load, schedule, 0) for schedule in SCHEDULES}
    assert right not in wrong.values()
    assert wrong.pop("lockstep") == wrong["forward"], "without wave operations they are the same"
    assert len(set(wrong.values())) == len(wrong)


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


def wave_turns(host: Host, load: Load, schedule: str, threads: int, wave: int, lanes: int) -> list[int]:
    """The threads in the order of their turns; `lanes` of each wave have one more."""
    host.settings.set_schedule(schedule)
    counter, order = host.array(np.zeros(1, np.int32)), host.malloc(3 * threads * 4)
    load("waves").launch_note_waves(counter.pointer, order.pointer, lanes, threads, wave)
    count = int(counter.download(np.int32)[0])
    return list(order.download(np.int32, count).tolist())


@pytest.mark.parametrize(("threads", "wave"), [(64, 32), (64, 64), (96, 64), (1000, 32), (1024, 64)])
@pytest.mark.parametrize("lanes", [0, 3])
def test_a_wave_ends_its_wave_operations_before_another_starts(
    host: Host, load: Load, threads: int, wave: int, lanes: int
) -> None:
    waves = [range(first, min(first + wave, threads)) for first in range(0, threads, wave)]
    forward = [thread for lane in waves for turn in (lane, lane, lane[:lanes]) for thread in turn]
    backward = [thread for lane in waves[::-1] for turn in (lane, lane, lane[:lanes]) for thread in turn[::-1]]
    assert wave_turns(host, load, "forward", threads, wave, lanes) == forward
    assert wave_turns(host, load, "reverse", threads, wave, lanes) == backward


def test_in_lockstep_waves_wait_for_each_other_at_operations(host: Host, load: Load) -> None:
    turns = wave_turns(host, load, "lockstep", 128, 32, 0)
    last_lanes = {31, 63, 95, 127}  # the last to come goes on at once
    assert set(turns[:132]) == set(range(128))
    assert set(turns[132:]) == set(range(128)) - last_lanes


def test_random_depends_on_seed_block_and_stretch_not_threads(host: Host, load: Load) -> None:
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


def test_all_os_threads_start_with_the_first_launch(in_new_process, build_kernels) -> None:
    """A later one that has more blocks is not seen to add a thread to its process."""
    code = """
import os
hip = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
hip.bitgateHostSetThreads(4)
library = ctypes.CDLL(libraries[0])
counter, order = ctypes.c_void_p(), ctypes.c_void_p()
for pointer in (counter, order):
    hip.hipMalloc(ctypes.byref(pointer), 4096)
seen = []
for blocks in (1, 2, 100):
    hip.hipMemset(counter, 0, 4)
    library.launch_note_block_order(counter, order, blocks)
    assert hip.hipDeviceSynchronize() == 0
    seen.append(len(os.listdir("/proc/self/task")))
print(seen)
"""
    done = in_new_process(code, build_kernels("basics"))
    first, *rest = ast.literal_eval(done.stdout)
    assert rest == [first, first], done.stderr
