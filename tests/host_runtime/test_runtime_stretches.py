"""Barriers, wave operations and ends in any sequence: every schedule gives what a plain calculation gives."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from .conftest import LAUNCH_FAILURE, Host

Load = Callable[..., ctypes.CDLL]
SCHEDULES = ["forward", "reverse", "lockstep", "random:1"]


def followed(plan: str, blocks: int, threads: int, wave: int) -> np.ndarray:
    """What each thread of `follow` (kernels/stretches.hip.cpp) holds in the end."""
    value = np.arange(blocks * threads, dtype=np.uint32).reshape(blocks, threads)
    wave_of = np.arange(threads) // wave
    for step in plan:
        odd = value & 1
        of_the_wave = np.stack([odd[:, wave_of == w].sum(axis=1) for w in wave_of], axis=1)
        of_the_next_wave = np.stack(
            [value[:, wave_of == (w + 1) % (wave_of[-1] + 1)].sum(axis=1) for w in wave_of], axis=1
        )
        gain = {
            "b": np.roll(value, -1, axis=1),
            "c": odd.sum(axis=1, keepdims=True),
            "v": of_the_wave,
            "w": of_the_wave,
            "s": of_the_next_wave,
            "t": of_the_next_wave,
        }[step].astype(np.uint32)
        takes_part = (wave_of % 2 == 1) if step == "w" else np.full(threads, True)
        value = np.where(takes_part, value * np.uint32(31) + gain, value)
    return value


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    plan=st.text("bcstvw", max_size=8),
    threads=st.integers(1, 200),
    wave=st.sampled_from([32, 64]),
    schedule=st.sampled_from(SCHEDULES),
)
@example(plan="", threads=1024, wave=64, schedule="forward")
@example(plan="bb", threads=1, wave=64, schedule="reverse")
@example(plan="bwbvb", threads=130, wave=32, schedule="forward")
@example(plan="bbbb", threads=1024, wave=64, schedule="random:1")
@example(plan="sssb", threads=1024, wave=32, schedule="forward")
@example(plan="ststs", threads=130, wave=64, schedule="reverse")
@example(plan="sbs", threads=130, wave=64, schedule="random:1")
def test_threads_follow_any_plan(host: Host, load: Load, plan: str, threads: int, wave: int, schedule: str) -> None:
    host.settings.set_schedule(schedule)
    host.settings.set_wave_size(wave)
    host.settings.set_threads(2)
    out = host.malloc(3 * threads * 4)
    steps = host.array(np.frombuffer(plan.encode() or b" ", np.int8))
    load("stretches").launch_follow(out.pointer, steps.pointer, len(plan), 3, threads)
    assert np.array_equal(out.download(np.uint32).reshape(3, threads), followed(plan, 3, threads, wave))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("barriers", [0, 1, 3])
@pytest.mark.parametrize("leaver", [0, 17, 69])
def test_whoever_leaves_whenever_is_named(host: Host, load: Load, leaver: int, barriers: int, schedule: str) -> None:
    host.settings.set_schedule(schedule)
    load("stretches").launch_leave_early(leaver, barriers, 70)
    assert host.synchronize() == LAUNCH_FAILURE
    assert f"barrier not reached by 1 of 70 threads, first missing thread ({leaver},0,0)" in host.text()


def test_the_kernel_is_the_one_a_variable_names_at_the_launch(host: Host, load: Load) -> None:
    out = host.malloc(4)
    load("stretches").launch_chosen(out.pointer)
    assert out.download(np.int32).tolist() == [1]
