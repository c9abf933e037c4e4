"""A thread that waits for another wave's progress is reported, and soon; a kernel that takes long is left alone."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import LAUNCH_FAILURE, SUCCESS, Host

Load = Callable[..., ctypes.CDLL]
LIMIT = 0.3


@pytest.fixture
def watched(host: Host) -> Host:
    host.settings.set_spin_limit(LIMIT)
    return host


def spun(host: Host) -> None:
    """The launch ends by itself, with the fault."""
    assert host.synchronize() == LAUNCH_FAILURE
    fault = host.fault()
    assert fault.kind == "spin"
    assert "without reaching a barrier or its end" in fault.text
    assert "another wave's or block's progress" in fault.text


@pytest.mark.parametrize("threads_of_cpu", [1, 2])
def test_a_wait_for_another_wave_is_reported(watched: Host, load: Load, threads_of_cpu: int) -> None:
    watched.settings.set_threads(threads_of_cpu)
    flag = watched.array(np.zeros(1, np.int32), "flag")
    load("spins").launch_wait_for_flag(flag.pointer, 64, 128)
    spun(watched)
    fault = watched.fault()
    assert (fault.kernel, fault.block, fault.thread) == ("wait_for_flag", (0, 0, 0), (0, 0, 0))
    assert fault.text.startswith("kernel wait_for_flag, block (0,0,0), thread (0,0,0): it spins: ")


@pytest.mark.parametrize("kernel", ["wait_with_atomics", "wait_with_votes"])
def test_so_is_one_with_atomics_or_wave_operations(watched: Host, load: Load, kernel: str) -> None:
    flag = watched.array(np.zeros(1, np.int32))
    getattr(load("spins"), f"launch_{kernel}")(flag.pointer)
    spun(watched)


def test_the_next_launch_runs(watched: Host, load: Load) -> None:
    flag = watched.array(np.zeros(1, np.int32))
    load("spins").launch_wait_for_flag(flag.pointer, 64, 128)
    spun(watched)
    load("spins").launch_wait_for_flag(flag.pointer, 0, 128)
    assert watched.synchronize() == SUCCESS
    assert flag.download(np.int32)[0] == 1


def test_a_long_kernel_is_left_alone(watched: Host, load: Load) -> None:
    """Each stretch of a thread is short, all of them together are several times the limit."""
    out = watched.malloc(64 * 8)
    begun = time.process_time()
    load("spins").launch_take_long(out.pointer, 10, 1_000_000)
    assert watched.synchronize() == SUCCESS
    assert time.process_time() - begun > 2 * LIMIT


def test_so_is_one_without_barriers(watched: Host, load: Load) -> None:
    """The last 32 threads have their turns on one stack, without a switch between them."""
    out = watched.malloc(64 * 8)
    begun = time.process_time()
    load("spins").launch_take_turns(out.pointer, 20_000_000)
    assert watched.synchronize() == SUCCESS
    assert time.process_time() - begun > 2 * LIMIT
