"""What a library cannot hide from its caller: errors that it cleared, work that it left, memory it must not touch."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import (
    HOST_TO_DEVICE,
    ILLEGAL_ADDRESS,
    INVALID_HANDLE,
    INVALID_VALUE,
    LAUNCH_FAILURE,
    OUT_OF_MEMORY,
    SUCCESS,
    Host,
    address,
)

Load = Callable[..., ctypes.CDLL]
NON_BLOCKING = 1


@pytest.fixture
def since(host: Host) -> Callable[[], list[str]]:
    """The sentences of the incidents since the test began."""
    begin = host.settings.incidents()
    return lambda: [fault.text for fault in host.settings.incidents_since(begin)]


def test_a_fault_that_the_library_read_and_cleared(host: Host, load: Load, since) -> None:
    x = host.malloc(4)
    assert load("incidents").swallow_fault(x.pointer) == SUCCESS
    assert host.synchronize() == SUCCESS  # nothing is left of it for HIP to report
    host.settings.clear_fault()
    (text,) = since()
    assert "kernel copy_cell, block (0,0,0), thread (0,0,0): read through a null pointer" in text


def test_a_launch_that_was_refused_and_cleared(host: Host, load: Load, since) -> None:
    x = host.malloc(4)
    assert load("incidents").swallow_launch(x.pointer) == SUCCESS
    (text,) = since()
    assert "launch of copy_cell" in text
    assert "refused: a block has at most 1024 threads" in text


def test_frees_that_were_refused(host: Host, since) -> None:
    x = host.malloc(64, "weights")
    outside = np.zeros(4)
    assert host.hip.hipFree(ctypes.c_void_p(address(x.pointer) + 16)) == INVALID_VALUE
    assert host.hip.hipFree(ctypes.c_void_p(outside.ctypes.data)) == INVALID_VALUE
    assert host.hip.hipFree(x.pointer) == SUCCESS
    assert host.hip.hipFree(x.pointer) == INVALID_VALUE
    inside, unknown, twice = since()
    assert "lies inside buffer weights, at byte offset 16" in inside
    assert "is no buffer of this runtime" in unknown
    assert twice == "hipFree: buffer weights has been freed already"


def test_a_lent_buffer_cannot_be_freed(host: Host, since) -> None:
    x = host.array(np.arange(4, dtype=np.int32), "out")
    host.settings.lend(address(x.pointer), True)
    assert host.hip.hipFree(x.pointer) == INVALID_VALUE
    assert host.hip.hipFreeAsync(x.pointer, None) == SUCCESS  # refused when its turn comes
    host.synchronize()
    assert since() == [
        "hipFree: buffer out belongs to the caller, who frees it",
        "hipFreeAsync: buffer out belongs to the caller, who frees it",
    ]
    assert x.download(np.int32).tolist() == [0, 1, 2, 3]
    host.settings.lend(address(x.pointer), False)
    assert host.hip.hipFree(x.pointer) == SUCCESS


def test_copies_waits_and_resets_are_incidents_but_not_queries(host: Host, since) -> None:
    x, data = host.malloc(16, "weights"), np.zeros(8, np.int32)
    assert host.hip.hipMemcpy(x.pointer, data.ctypes, 32, HOST_TO_DEVICE) == INVALID_VALUE
    assert host.hip.hipStreamSynchronize(ctypes.c_void_p(0x12345)) == INVALID_HANDLE
    assert host.hip.hipDeviceReset() == SUCCESS
    copied, waited, reset = since()
    assert "reaches 16 bytes past the end of buffer weights" in copied
    assert "the stream does not exist" in waited
    assert reset.startswith("hipDeviceReset: ")
    assert host.hip.hipMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 60)) == OUT_OF_MEMORY
    assert host.hip.hipDeviceGetAttribute(ctypes.byref(ctypes.c_int()), 99999, 0) == INVALID_VALUE
    assert len(since()) == 3


def test_the_latest_incidents_are_kept(host: Host, since) -> None:
    begin = host.settings.incidents()
    for _ in range(100):
        host.hip.hipFree(ctypes.c_void_p(0x5000000))
    assert host.settings.incidents() == begin + 100
    assert len(since()) == 64
    assert host.settings.incidents_since(begin + 100) == []


def test_a_pointer_into_the_hosts_memory_faults_as_on_a_gpu(host: Host, load: Load, since) -> None:
    x, data = host.malloc(4), np.array([5], np.int32)
    copy = load("incidents").launch_copy
    copy(x.pointer, data.ctypes, None)
    assert host.synchronize() == ILLEGAL_ADDRESS
    fault = host.fault()
    assert (fault.kind, fault.kernel, fault.address) == ("host_pointer", "copy_cell", data.ctypes.data)
    assert "kernel copy_cell, argument 2: 0x" in fault.text
    assert "points into the host's memory, which no GPU can read" in fault.text
    copy(data.ctypes, x.pointer, None)
    assert host.synchronize() == ILLEGAL_ADDRESS
    assert "argument 1" in host.text()
    assert data[0] == 5
    assert len(since()) == 2


def test_pinned_managed_and_registered_memory_is_the_devices(host: Host, load: Load, since) -> None:
    x = host.malloc(4)
    copy = load("incidents").launch_copy
    for allocate in (host.hip.hipHostMalloc, host.hip.hipMallocManaged):
        pointer = ctypes.c_void_p()
        assert allocate(ctypes.byref(pointer), ctypes.c_size_t(4), 0) == SUCCESS
        ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int32))[0] = 3
        copy(x.pointer, pointer, None)
        assert x.download(np.int32).tolist() == [3]
    data = np.array([5], np.int32)
    assert host.hip.hipHostRegister(data.ctypes, ctypes.c_size_t(4), 0) == SUCCESS
    copy(x.pointer, data.ctypes, None)
    assert x.download(np.int32).tolist() == [5]
    assert host.hip.hipHostUnregister(data.ctypes) == SUCCESS
    assert since() == []


def test_device_variables_and_members_are_no_host_pointers(host: Host, load: Load, since) -> None:
    x, data = host.malloc(4), np.array([5], np.int32)
    library = load("incidents")
    library.launch_copy_padded(x.pointer, data.ctypes)  # only arguments are looked at
    assert x.download(np.int32).tolist() == [5]
    library.launch_call(x.pointer)
    assert x.download(np.int32).tolist() == [2]
    library.launch_copy_of_a_variable(x.pointer, True)
    assert x.download(np.int32).tolist() == [8]
    assert since() == []


def test_work_on_another_stream_is_in_flight_until_a_wait(host: Host, load: Load) -> None:
    a, b = (host.array(np.array([i], np.int32)) for i in (1, 2))
    mine, other = host.stream(NON_BLOCKING), host.stream(NON_BLOCKING)
    copy = load("incidents").launch_copy
    assert host.settings.work_in_flight(address(mine)) == (0, "")
    copy(a.pointer, b.pointer, mine)
    assert host.settings.work_in_flight(address(mine)) == (0, "")
    copy(a.pointer, b.pointer, other)
    assert host.settings.work_in_flight(address(mine)) == (1, "kernel copy_cell on a stream of its own")
    assert host.hip.hipStreamSynchronize(mine) == SUCCESS
    assert host.settings.work_in_flight(address(mine))[0] == 1
    assert host.hip.hipStreamDestroy(other) == SUCCESS  # ends the handle, not the work
    assert host.settings.work_in_flight(address(mine))[0] == 1
    assert host.synchronize() == SUCCESS
    assert host.settings.work_in_flight(address(mine)) == (0, "")
    assert host.hip.hipMemsetAsync(a.pointer, 0, ctypes.c_size_t(4), None) == SUCCESS
    assert host.settings.work_in_flight(address(mine)) == (1, "hipMemsetAsync on the null stream")


def test_an_awaited_event_ends_the_other_streams_work(host: Host, load: Load) -> None:
    a, b = (host.array(np.array([i], np.int32)) for i in (1, 2))
    mine, other, event = host.stream(NON_BLOCKING), host.stream(NON_BLOCKING), host.event()
    load("incidents").launch_copy(a.pointer, b.pointer, other)
    assert host.hip.hipEventRecord(event, other) == SUCCESS
    assert host.hip.hipStreamWaitEvent(mine, event, 0) == SUCCESS
    assert host.hip.hipStreamDestroy(other) == SUCCESS
    assert host.hip.hipStreamSynchronize(mine) == SUCCESS
    assert host.settings.work_in_flight(address(mine)) == (0, "")
    assert a.download(np.int32).tolist() == [2]


FTZ, DAZ, ROUND_DOWN, DIVISION = 0x8000, 0x0040, 0x2000, 0x0200


@pytest.mark.parametrize(
    ("mask", "bits", "words"),
    [
        (FTZ, FTZ, "flush-to-zero"),
        (DAZ, DAZ, "flush-to-zero"),
        (0x6000, ROUND_DOWN, "rounding"),
        (0xE000, FTZ | ROUND_DOWN, "flush-to-zero and rounding"),
        (DIVISION, 0, "masked exceptions"),
    ],
)
def test_a_changed_fp_environment_is_a_fault_of_its_block(
    host: Host, load: Load, mask: int, bits: int, words: str
) -> None:
    library = load("incidents")
    host.settings.set_threads(1)
    library.launch_set_control(mask, bits, False)
    assert host.synchronize() == LAUNCH_FAILURE
    fault = host.fault()
    assert (fault.kind, fault.kernel, fault.block) == ("fp_environment", "set_control", (1, 0, 0))
    assert f"the floating-point environment was changed and left so: {words} (MXCSR was 0x1f80" in fault.text
    seen = host.malloc(16)
    library.launch_read_control(seen.pointer, 4)
    assert set(seen.download(np.uint32).tolist()) == {0x1F80}


def test_the_x87_control_word_counts_and_may_be_restored(host: Host, load: Load) -> None:
    library = load("incidents")
    library.launch_set_x87()
    assert host.synchronize() == LAUNCH_FAILURE
    assert "the x87 control word was 0x037f, is 0x0e7f" in host.text()
    library.launch_set_control(FTZ, FTZ, True)
    assert host.synchronize() == SUCCESS


def test_another_byte_of_poison(host: Host, load: Load) -> None:
    library, out = load("incidents"), host.malloc(8)
    for byte in (0xFF, 0x7F):
        assert host.hip.bitgateHostSetPoisonByte(byte) == SUCCESS
        library.launch_read_lds(out.pointer)
        assert out.download(np.uint32).tolist() == [byte * 0x01010101] * 2
        assert host.malloc(4).download(np.uint32).tolist() == [byte * 0x01010101]
    assert host.hip.bitgateHostSetPoisonByte(256) == INVALID_VALUE
    host.settings.reset()
    assert host.malloc(4).download(np.uint32).tolist() == [0xFFFFFFFF]


def test_the_device_says_that_it_cannot_read_the_hosts_memory(host: Host) -> None:
    for attribute in (65, 66):  # PageableMemoryAccess, and through the host's page tables
        value = ctypes.c_int(-1)
        assert host.hip.hipDeviceGetAttribute(ctypes.byref(value), attribute, 0) == SUCCESS
        assert value.value == 0
