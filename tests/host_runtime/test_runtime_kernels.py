"""Plain HIP C++ runs on the host: indices, launches, LDS, barriers, atomics, 16-bit types, symbols."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .conftest import INVALID_CONFIGURATION, SUCCESS, Host

Load = Callable[..., ctypes.CDLL]

WHERE = np.dtype(
    [("thread", "u4", 3), ("block", "u4", 3), ("size", "u4", 3), ("grid", "u4", 3), ("warp", "i4"), ("lane", "u4")]
)


@pytest.mark.parametrize("wave", [32, 64])
def test_each_thread_knows_where_it_is(host: Host, load: Load, wave: int) -> None:
    grid, block = (3, 2, 2), (5, 3, 4)
    count = int(np.prod(grid) * np.prod(block))
    out = host.malloc(count * WHERE.itemsize)
    load("basics").launch_where(out.pointer, *grid, *block, wave)
    seen = out.download(WHERE)
    linear = np.arange(count)
    thread, number = linear % 60, linear // 60
    assert np.array_equal(seen["thread"], np.stack([thread % 5, thread // 5 % 3, thread // 15], axis=1))
    assert np.array_equal(seen["block"], np.stack([number % 3, number // 3 % 2, number // 6], axis=1))
    assert np.array_equal(seen["lane"], thread % wave)
    assert {tuple(row) for row in seen["size"]} == {block}
    assert {tuple(row) for row in seen["grid"]} == {grid}
    assert set(seen["warp"]) == {wave}


@pytest.mark.parametrize("blocks", [1, 3, 64])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_grid_stride_loop_covers_the_array(host: Host, load: Load, blocks: int, threads: int) -> None:
    host.settings.set_threads(threads)
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    dx, dy = host.array(x), host.array(y)
    load("basics").launch_saxpy(dy.pointer, dx.pointer, 1000, blocks, None)
    assert np.array_equal(dy.download(np.float32), 2 * x + 1)


def test_template_kernels_and_launches_by_argument_array(host: Host, load: Load) -> None:
    out = host.malloc(16)
    load("basics").launch_templates(out.pointer, None)
    assert out.download(np.float32).tolist() == [5, 5, 3, 3]
    assert load("basics").launch_by_array(out.pointer) == SUCCESS
    assert out.download(np.float32).tolist() == [7, 7, 7, 7]


@pytest.mark.parametrize("schedule", ["forward", "reverse", "lockstep", "random:1", "random:2"])
@pytest.mark.parametrize("first", [0, 1, 77, 199, 200])
def test_threads_that_never_waited_may_wait_in_a_later_block(host: Host, load: Load, schedule: str, first: int) -> None:
    host.settings.set_threads(1)
    host.settings.set_schedule(schedule)
    met = host.malloc(9 * 200 * 4)
    load("basics").launch_wait_late(met.pointer, 9, 200, 4, first)
    assert host.synchronize() == SUCCESS
    thread = np.arange(200)
    waves = [np.flatnonzero(thread[at : at + 64] >= first).size for at in range(0, 200, 64)]
    lanes = np.where(thread >= first, np.repeat(waves, 64)[:200], 0)
    expected = np.tile(1000 * thread, (9, 1))
    expected[4] += lanes
    assert np.array_equal(met.download(np.int32).reshape(9, 200), expected)


@pytest.mark.parametrize("kind", ["struct", "shared", "dynamic"])
@pytest.mark.parametrize("schedule", ["forward", "reverse", "random:1", "random:2"])
def test_lds_and_barrier(host: Host, load: Load, kind: str, schedule: str) -> None:
    host.settings.set_schedule(schedule)
    x = np.arange(6 * 256, dtype=np.float32)
    dx = host.array(x)
    load("basics").launch_reverse(dx.pointer, ["struct", "shared", "dynamic"].index(kind), 6, 256, 1)
    assert np.array_equal(dx.download(np.float32), x.reshape(6, 256)[:, ::-1].ravel())


def test_a_block_finds_its_lds_poisoned(host: Host, load: Load) -> None:
    host.settings.set_threads(1)  # all blocks follow one another in the same LDS
    out = host.malloc(4 * 64 * 3 * 4)
    load("basics").launch_read_fresh(out.pointer, 4)
    assert set(out.download(np.uint32)) == {0xFFFFFFFF}


def test_barriers_that_count_and_vote(host: Host, load: Load) -> None:
    out = host.malloc(96 * 4)
    load("basics").launch_barrier_votes(out.pointer, 96)
    assert set(out.download(np.int32)) == {48 | 1 << 10 | 0 << 11 | 1 << 12 | 0 << 13 | 96 << 16}


def test_atomics_add_up_across_os_threads(host: Host, load: Load) -> None:
    host.settings.set_threads(4)
    totals = host.array(np.zeros(64, np.uint8))
    halves, bfloats = host.array(np.zeros(4, np.uint8)), host.array(np.zeros(4, np.uint8))
    load("basics").launch_all_atomics(totals.pointer, halves.pointer, bfloats.pointer, 16, 64)
    dtype = np.dtype(
        {
            "names": ["sum", "most", "least", "bits", "wrapped", "wide", "real", "precise", "swapped"],
            "formats": ["i4", "i4", "i4", "u4", "u4", "u8", "f4", "f8", "i4"],
            "offsets": [0, 4, 8, 12, 16, 24, 32, 40, 48],
            "itemsize": 56,
        }
    )
    n = 16 * 64
    got = totals.download(np.uint8)[:56].view(dtype)[0]
    assert got.tolist() == (n, n - 1, 1 - n, 0xFFFFFFFF, n % 10, n << 32, n, n / 2, n)
    assert halves.download(np.float16).tolist() == [n, 2 * n]
    # bf16 holds 8 bits: adding 1 to 256 and 0.5 to 128 changes nothing any more.
    assert bfloats.download(ml_dtypes.bfloat16).tolist() == [256, 128]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_16_bit_types_round_as_the_reference_does(host: Host, load: Load, dtype: Any) -> None:
    patterns = np.arange(65536, dtype=np.uint16)
    values = patterns.view(dtype)
    rng = np.random.default_rng(7)
    # Half of the floats anywhere, half right between two representable values, where ties decide.
    anywhere = rng.integers(0, 2**32, 32768, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        low = np.nextafter(np.abs(values[rng.integers(0, 65536, 32768)]), dtype(0)).astype(np.float32)
        high = np.nextafter(low.astype(dtype), dtype(np.inf)).astype(np.float32)
        between = ((low.astype(np.float64) + high) / 2).astype(np.float32)
        floats = np.concatenate([anywhere, between])
        rounded, back, total = host.malloc(131072), host.malloc(262144), host.malloc(131072)
        source = host.array(floats)
        is_bfloat = int(dtype is ml_dtypes.bfloat16)
        load("basics").launch_table(is_bfloat, source.pointer, rounded.pointer, back.pointer, total.pointer)
        square = (values.astype(np.float32) ** 2).astype(dtype)
        expected_total = (square.astype(np.float32) + np.float32(1)).astype(dtype)
        expected_rounded = floats.astype(dtype)
    _same(rounded.download(np.uint16).view(dtype), expected_rounded)
    _same(back.download(np.float32), values.astype(np.float32))
    _same(total.download(np.uint16).view(dtype), expected_total)


def _same(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits, NaN as a class."""
    nan = np.isnan(expected.astype(np.float32))
    assert np.array_equal(np.isnan(got.astype(np.float32)), nan)
    unsigned = {2: np.uint16, 4: np.uint32}[got.dtype.itemsize]
    assert np.array_equal(got.view(unsigned)[~nan], expected.view(unsigned)[~nan])


def test_symbols_vectors_and_intrinsics(host: Host, load: Load) -> None:
    out = host.malloc(16)
    assert load("basics").launch_use_symbols(out.pointer) == 6
    assert out.download(np.float32).tolist() == [21, 81, 5, 4 + 31 + 4 + 3 + 2]


def test_static_lds_is_known_before_a_launch(host: Host, load: Load) -> None:
    assert load("basics").shared_bytes_of_reverse_shared() == 1024


@pytest.mark.parametrize(
    ("grid", "block", "lds", "says"),
    [
        ((0, 1, 1), (1, 1, 1), 0, "a dimension is zero"),
        ((1, 1, 1), (1, 0, 1), 0, "a dimension is zero"),
        ((1, 1, 1), (1024, 2, 1), 0, "at most 1024 threads"),
        ((1, 65536, 1), (1, 1, 1), 0, "65535"),
        ((1, 1, 1), (1, 1, 1), 65537, "more LDS"),
    ],
)
def test_an_impossible_shape_is_refused_with_the_reason(
    host: Host, load: Load, grid: tuple[int, ...], block: tuple[int, ...], lds: int, says: str
) -> None:
    library = load("basics")
    assert library.launch_shape(*grid, *block, ctypes.c_size_t(lds), 0) == INVALID_CONFIGURATION
    assert says in host.text()
    assert "where" in host.text()
    assert host.hip.hipGetLastError() == INVALID_CONFIGURATION
    assert host.hip.hipGetLastError() == SUCCESS


def test_the_last_launch_is_on_record(host: Host, load: Load) -> None:
    class Launch(ctypes.Structure):
        _fields_ = (
            ("kernel", ctypes.c_char * 128),
            ("grid", ctypes.c_uint32 * 3),
            ("block", ctypes.c_uint32 * 3),
            ("lds", ctypes.c_uint64),
            ("wave", ctypes.c_uint32),
            ("threads", ctypes.c_uint32),
            ("sequence", ctypes.c_uint64),
        )

    out = host.array(np.zeros(512, np.float32))
    launch = Launch()
    load("basics").launch_reverse(out.pointer, 0, 2, 256, 1)
    host.synchronize()
    assert host.hip.bitgateHostLastLaunch(ctypes.byref(launch)) == 0
    assert launch.kernel == b"reverse_struct"
    assert (tuple(launch.grid), tuple(launch.block)) == ((2, 1, 1), (256, 1, 1))
    assert (launch.lds, launch.wave) == (1024, 64)
    load("basics").launch_templates(out.pointer, None)
    host.synchronize()
    assert host.hip.bitgateHostLastLaunch(ctypes.byref(launch)) == 0
    assert launch.kernel == b"fill_with<float, 5>"


def test_many_os_threads_share_the_mappings_of_a_process(host: Host, load: Load) -> None:
    """200 OS threads with 1024 fibers each would need 400,000 mappings; 65,530 is the usual bound."""
    host.settings.set_threads(200)
    x = np.arange(220 * 1024, dtype=np.float32) % 1024
    device = host.array(x)
    load("basics").launch_reverse(device.pointer, 2, 220, 1024, 1)
    assert np.array_equal(device.download(np.float32), x.reshape(220, 1024)[:, ::-1].ravel())
