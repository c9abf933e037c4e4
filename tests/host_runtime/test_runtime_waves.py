"""Wave operations: shuffles and votes of 32 and 64 lanes, partial waves, block reductions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import SUCCESS, Host

Load = Callable[..., ctypes.CDLL]
TYPES = {"int": np.int32, "float": np.float32, "double": np.float64, "long": np.int64, "half": np.float16}


def expected_sources(threads: int, wave: int, width: int) -> np.ndarray:
    """For each thread the threads whose values shfl(5), up(2), down(3) and xor(1) give it."""
    lane = np.arange(threads) % wave
    first = np.arange(threads) - lane
    start = lane // width * width
    within = lane - start
    fixed = start + 5 % width
    up = np.where(within >= 2, lane - 2, lane)
    down = np.where(within + 3 < width, lane + 3, lane)
    xor = np.where((lane ^ 1) < start + width, lane ^ 1, lane)
    return first[:, None] + np.stack([fixed, up, down, xor], axis=1)


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("width", [8, 32])
@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("schedule", ["forward", "random:5"])
def test_shuffles(host: Host, load: Load, wave: int, width: int, type_name: str, schedule: str) -> None:
    host.settings.set_schedule(schedule)
    threads, dtype = 128, TYPES[type_name]
    out = host.malloc(threads * 4 * np.dtype(dtype).itemsize)
    getattr(load("waves"), f"launch_shuffles_{type_name}")(out.pointer, width, threads, wave)
    expected = (expected_sources(threads, wave, width) * 3 + 1).astype(dtype)
    assert np.array_equal(out.download(dtype).reshape(threads, 4), expected)


def test_a_shuffle_over_the_whole_wave_reaches_lane_63(host: Host, load: Load) -> None:
    out = host.malloc(64 * 16)
    load("waves").launch_shuffles_int(out.pointer, 64, 64, 64)
    assert np.array_equal(out.download(np.int32).reshape(64, 4), expected_sources(64, 64, 64) * 3 + 1)


@pytest.mark.parametrize("wave", [32, 64])
def test_votes(host: Host, load: Load, wave: int) -> None:
    threads = 80  # the last wave is not full
    out = host.malloc(threads * 32)
    load("waves").launch_votes(out.pointer, threads, wave)
    got = out.download(np.uint64).reshape(threads, 4)
    for thread in range(threads):
        first = thread // wave * wave
        lanes = range(first, min(first + wave, threads))
        ballot = sum(1 << (t - first) for t in lanes if t % 3 == 0)
        assert got[thread].tolist() == [ballot, int(40 in lanes), 1, (1 << len(lanes)) - 1]


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("schedule", ["forward", "reverse", "random:8"])
def test_a_block_sum_through_shuffles_and_lds(host: Host, load: Load, wave: int, schedule: str) -> None:
    host.settings.set_schedule(schedule)
    data, out = host.array(np.arange(256, dtype=np.float32)), host.malloc(4)
    load("waves").launch_block_sum(data.pointer, out.pointer, 256, wave)
    assert out.download(np.float32)[0] == 255 * 256 / 2


def test_lanes_in_a_divergent_branch_shuffle_among_themselves(host: Host, load: Load) -> None:
    """The others wait at the barrier; a value taken from one of them is poison."""
    out = host.malloc(256)
    load("waves").launch_partial_wave(out.pointer, 8)
    assert out.download(np.int32).tolist() == [-1] + [1] * 7 + [-2] * 56


def test_the_default_wave_size_is_a_setting(host: Host, load: Load) -> None:
    value = ctypes.c_int()
    for size in (32, 64):
        host.settings.set_wave_size(size)
        assert host.hip.hipDeviceGetAttribute(ctypes.byref(value), 87, 0) == SUCCESS
        assert value.value == size
    assert host.hip.bitgateHostSetWaveSize(48) != SUCCESS
    assert "32 or 64" in host.text()
