"""A fault inside a kernel becomes a HIP error that names its place; the process and the runtime live on."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import (
    ASSERT,
    ILLEGAL_ADDRESS,
    INVALID_VALUE,
    LAUNCH_FAILURE,
    LAUNCH_OUT_OF_RESOURCES,
    SUCCESS,
    Host,
    address,
)

Load = Callable[..., ctypes.CDLL]
NewProcess = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(
    ("placement", "index", "place"),
    [("right", 20, "+0 past the end"), ("right", 23, "+12 past the end"), ("left", -1, "4 bytes before its begin")],
)
def test_one_element_outside_global_memory(
    host: Host, load: Load, write: bool, placement: str, index: int, place: str
) -> None:
    x = host.malloc(80, "weights", placement)
    load("faults").launch_touch(x.pointer, ctypes.c_long(index), write)
    assert host.synchronize() == ILLEGAL_ADDRESS
    fault = host.fault()
    assert (fault.kind, fault.kernel, fault.buffer, fault.buffer_size) == ("global_memory", "touch", "weights", 80)
    assert (fault.block, fault.thread) == ((1, 0, 2), (3, 1, 0))
    assert (fault.offset, fault.is_write) == (index * 4, write)
    assert f"{'write' if write else 'read'} outside global memory: {place} of buffer weights (80 bytes)" in fault.text
    assert "kernel touch, block (1,0,2), thread (3,1,0)" in fault.text
    assert host.text() == fault.text


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(
    ("placement", "index", "place"), [(0, 32, "+0 bytes past the end"), (1, -1, "4 bytes before the begin")]
)
def test_one_element_outside_lds(host: Host, load: Load, write: bool, placement: int, index: int, place: str) -> None:
    host.hip.bitgateHostSetPlacement(placement)
    out = host.malloc(4)
    load("faults").launch_touch_lds(out.pointer, index, write)
    assert host.synchronize() == ILLEGAL_ADDRESS
    fault = host.fault()
    assert (fault.kind, fault.thread, fault.offset, fault.buffer_size) == ("lds", (5, 0, 0), index * 4, 128)
    assert fault.is_write is write
    assert f"{place} of the block's struct of 128 bytes, LDS offset {index * 4}" in fault.text


def test_dynamic_lds_ends_where_the_launch_said(host: Host, load: Load) -> None:
    out = host.malloc(4)
    load("faults").launch_touch_dynamic(out.pointer, 15, ctypes.c_size_t(64))
    assert host.synchronize() == SUCCESS
    load("faults").launch_touch_dynamic(out.pointer, 16, ctypes.c_size_t(64))
    assert host.synchronize() == ILLEGAL_ADDRESS
    assert host.fault().offset == 64


def test_a_write_into_lds_slack_is_found_when_the_block_ends(host: Host, load: Load) -> None:
    """Right-aligned, one element before the struct is no guard page; its canary shows it."""
    out = host.malloc(4)
    load("faults").launch_touch_lds(out.pointer, -1, True)
    assert host.synchronize() == ILLEGAL_ADDRESS
    assert (host.fault().kind, host.fault().offset) == ("lds_canary", -4)
    load("faults").launch_touch_lds(out.pointer, 3, True)
    assert host.synchronize() == SUCCESS


def test_a_write_into_buffer_slack_is_found_by_its_canary(host: Host, load: Load) -> None:
    x = host.malloc(80, "gradient", "left")
    assert host.hip.bitgateHostCheckCanary(x.pointer, None) == SUCCESS
    load("faults").launch_touch(x.pointer, ctypes.c_long(20), True)
    assert host.synchronize() == SUCCESS
    assert host.settings.damaged_at(address(x.pointer)) == 80
    assert "+0 past the end" in host.text()
    assert "gradient" in host.text()
    assert host.hip.hipFree(x.pointer) == ILLEGAL_ADDRESS
    assert host.fault().kind == "global_canary"
    assert host.hip.hipFree(x.pointer) == INVALID_VALUE
    assert "freed already" in host.text()


def test_use_after_free_names_the_freed_buffer(host: Host, load: Load) -> None:
    x = host.malloc(80, "workspace")
    assert host.hip.hipFree(x.pointer) == SUCCESS
    load("faults").launch_touch(x.pointer, ctypes.c_long(2), False)
    assert host.synchronize() == ILLEGAL_ADDRESS
    assert "freed buffer workspace" in host.text()


def test_null_and_wild_pointers(host: Host, load: Load) -> None:
    load("faults").launch_touch(None, ctypes.c_long(2), True)
    assert host.synchronize() == ILLEGAL_ADDRESS
    assert host.fault().kind == "null"
    load("faults").launch_touch(ctypes.c_void_p(0x5A5A_5A5A_5A5A_5A58), ctypes.c_long(0), True)
    assert host.synchronize() == ILLEGAL_ADDRESS
    assert host.fault().kind == "wild"


def test_stack_overflow(host: Host, load: Load) -> None:
    load("faults").launch_overflow(host.malloc(4).pointer)
    assert host.synchronize() == LAUNCH_FAILURE
    assert (host.fault().kind, host.fault().thread) == ("stack_overflow", (9, 0, 0))
    assert "stack overflow" in host.text()


@pytest.mark.parametrize(
    ("launch", "arguments", "error", "kind", "says"),
    [
        ("divide", (None, 0), LAUNCH_FAILURE, "arithmetic", "integer division"),
        ("trap", (), LAUNCH_FAILURE, "trap", "trap instruction"),
        ("asserting", (2,), ASSERT, "assert", "n is large"),
        ("throwing", (), LAUNCH_FAILURE, "exception", "C++ exception"),
        ("large_lds", (None,), LAUNCH_OUT_OF_RESOURCES, "lds_misuse", "49152 bytes of LDS"),
    ],
)
def test_other_faults(
    host: Host, load: Load, launch: str, arguments: tuple[object, ...], error: int, kind: str, says: str
) -> None:
    host.hip.bitgateHostSetLdsLimit(ctypes.c_size_t(32 * 1024))
    getattr(load("faults"), f"launch_{launch}")(*arguments)
    assert host.synchronize() == error
    assert host.fault().kind == kind
    assert says in host.text()
    assert host.fault().kernel == launch


@pytest.mark.parametrize("schedule", ["forward", "reverse", "random:3"])
@pytest.mark.parametrize("there", [0, 1, 40, 63])
def test_a_barrier_that_not_all_threads_reach(host: Host, load: Load, schedule: str, there: int) -> None:
    host.settings.set_schedule(schedule)
    load("faults").launch_miss_barrier(there)
    if there == 0:
        assert host.synchronize() == SUCCESS  # no work waits
        return
    assert host.synchronize() == LAUNCH_FAILURE
    assert host.fault().kind == "missed_barrier"
    missing = f"barrier not reached by {64 - there} of 64 threads, first missing thread ({there % 16},{there // 16},0)"
    assert missing in host.text()


@pytest.mark.parametrize("agreed", [0, 2])
@pytest.mark.parametrize("barrier", [0, 1])
@pytest.mark.parametrize(("odd", "kind"), [(0, 0), (37, 0), (64, 0), (100, 1)])
def test_lanes_of_one_wave_must_agree_on_their_wave_operations(
    host: Host, load: Load, odd: int, kind: int, barrier: int, agreed: int
) -> None:
    load("faults").launch_miss_wave_op(1000, 0, barrier, agreed)
    assert host.synchronize() == SUCCESS
    load("faults").launch_miss_wave_op(odd, kind, barrier, agreed)
    assert host.synchronize() == LAUNCH_FAILURE
    assert host.fault().kind == "divergent_wave_op"
    assert f"wave {odd // 64}" in host.text()
    assert f"lane 0 in {agreed + (1 if odd % 64 == 0 else 2)}" in host.text()  # those of this launch alone
    assert ("the barrier" if barrier else "the kernel's end") in host.text()


@pytest.mark.parametrize("schedule", ["forward", "reverse"])
def test_work_of_a_lane_for_its_wave_between_barriers_is_right(host: Host, load: Load, schedule: str) -> None:
    host.settings.set_schedule(schedule)
    out = host.array(np.zeros(192, np.int32))
    load("faults").launch_fault_in_work(out.pointer, 4, 0)
    assert host.synchronize() == SUCCESS
    assert {t: int(value) for t, value in enumerate(out.download(np.int32)) if value} == {0: 100, 64: 25, 128: 100}
    for divisor, barrier, kind in ((0, 0, "arithmetic"), (4, 1, "missed_barrier")):
        load("faults").launch_fault_in_work(out.pointer, divisor, barrier)
        assert host.synchronize() == LAUNCH_FAILURE
        assert (host.fault().kind, host.fault().thread) == (kind, (64, 0, 0))
    load("faults").launch_fault_in_work(out.pointer, 4, 0)
    assert host.synchronize() == SUCCESS


def test_lanes_that_shuffle_at_two_places_are_told_apart(host: Host, load: Load) -> None:
    load("faults").launch_divergent_shuffle(host.malloc(256).pointer)
    assert host.synchronize() == LAUNCH_FAILURE
    assert host.fault().kind == "divergent_wave_op"
    assert "source line" in host.text()


BLOCKS = 2_000_000


@pytest.mark.parametrize("threads", [1, 4])
def test_a_fault_stops_the_launch_and_leaves_the_runtime_usable(host: Host, load: Load, threads: int) -> None:
    host.settings.set_threads(threads)
    counter = host.array(np.zeros(1, np.int32))
    faults = load("faults")
    for _ in range(3):
        faults.launch_fault_then_count(counter.pointer, BLOCKS)
        faults.launch_add_one(counter.pointer, 1, 1, None)  # after the fault: dropped
        assert host.synchronize() == ILLEGAL_ADDRESS
        assert host.synchronize() == SUCCESS
        assert host.hip.hipGetLastError() == ILLEGAL_ADDRESS
        assert host.hip.hipGetLastError() == SUCCESS
        # A thread of the host that is kept waiting at the fault lets others run on for a while.
        assert counter.download(np.int32)[0] < 3 * BLOCKS // 2
        counter.upload(np.zeros(1, np.int32))
        faults.launch_add_one(counter.pointer, 100, 50, None)
        assert counter.download(np.int32)[0] == 5000


def test_hundreds_of_faults_leak_nothing(host: Host, load: Load) -> None:
    faults = load("faults")
    counter = host.array(np.zeros(1, np.int32))
    for _ in range(300):
        faults.launch_miss_barrier(63)
        assert host.synchronize() == LAUNCH_FAILURE
    before = Path("/proc/self/maps").read_text().count("\n")
    for _ in range(300):
        faults.launch_miss_barrier(63)
        faults.launch_overflow(counter.pointer)
        assert host.synchronize() == LAUNCH_FAILURE
    assert Path("/proc/self/maps").read_text().count("\n") <= before + 4


FAULT_AND_GO_ON = """
faulthandler.enable()
hip = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
if {late}:
    faulthandler.disable(); faulthandler.enable()
faults = ctypes.CDLL(libraries[0])
faults.launch_touch(None, 2, 1)
if {late}:
    faulthandler.disable(); faulthandler.enable()
print(hip.hipDeviceSynchronize())
print(hip.hipDeviceSynchronize(), flush=True)
if {die}:
    ctypes.string_at(8)
"""


@pytest.mark.parametrize("late", [False, True])
def test_faulthandler_stays_quiet_for_a_kernels_fault(
    in_new_process: NewProcess, build_kernels: Callable[..., Path], late: bool
) -> None:
    done = in_new_process(FAULT_AND_GO_ON.format(late=late, die=False), build_kernels("faults"))
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["700", "0"], "")


def test_a_fault_of_the_process_itself_goes_to_faulthandler(
    in_new_process: NewProcess, build_kernels: Callable[..., Path]
) -> None:
    done = in_new_process(FAULT_AND_GO_ON.format(late=False, die=True), build_kernels("faults"))
    assert done.returncode == -11
    assert done.stdout.split() == ["700", "0"]
    assert "Fatal Python error: Segmentation fault" in done.stderr
    assert "string_at" in done.stderr


def test_without_faulthandler_a_fault_of_the_process_ends_it(
    in_new_process: NewProcess, build_kernels: Callable[..., Path]
) -> None:
    code = FAULT_AND_GO_ON.format(late=False, die=True).replace("faulthandler.enable()", "")
    assert in_new_process(code, build_kernels("faults")).returncode == -11
