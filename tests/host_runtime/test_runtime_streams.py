"""Streams run late on purpose: what a program forgot to wait for has not happened yet."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import DEFAULT, EAGER, HOST_TO_DEVICE, INVALID_HANDLE, NOT_READY, SUCCESS, Host

Load = Callable[..., ctypes.CDLL]
NON_BLOCKING = 1


class Counter:
    """An int in memory that host and kernels both see, so that a test can look without synchronising."""

    def __init__(self, host: Host, add: ctypes.CDLL) -> None:
        self._host, self._add = host, add
        self.pointer = ctypes.c_void_p()
        assert host.hip.hipHostMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(4), 0) == SUCCESS
        self._value = ctypes.c_int.from_address(self.pointer.value or 0)
        self._value.value = 0

    @property
    def value(self) -> int:
        return self._value.value

    def add_on(self, stream: ctypes.c_void_p | None) -> None:
        self._add.launch_add_one(self.pointer, 1, 1, stream)


@pytest.fixture
def counter(host: Host, load: Load) -> Callable[[], Counter]:
    library = load("faults")
    return lambda: Counter(host, library)


def test_a_launch_runs_when_something_waits_for_it(host: Host, counter: Callable[[], Counter]) -> None:
    c = counter()
    c.add_on(None)
    assert c.value == 0
    assert host.synchronize() == SUCCESS
    assert c.value == 1


def test_eager_mode_runs_at_the_launch(host: Host, counter: Callable[[], Counter]) -> None:
    host.hip.bitgateHostSetStreamMode(EAGER)
    c = counter()
    c.add_on(host.stream())
    assert c.value == 1


def test_streams_wait_only_for_themselves(host: Host, counter: Callable[[], Counter]) -> None:
    one, two, a, b = host.stream(NON_BLOCKING), host.stream(NON_BLOCKING), counter(), counter()
    a.add_on(one)
    b.add_on(two)
    assert host.hip.hipStreamSynchronize(two) == SUCCESS
    assert (a.value, b.value) == (0, 1)
    assert host.hip.hipStreamSynchronize(one) == SUCCESS
    assert a.value == 1


def test_the_null_and_blocking_streams_wait_for_each_other(host: Host, counter: Callable[[], Counter]) -> None:
    blocking, free = host.stream(), host.stream(NON_BLOCKING)
    a, b, c, d = counter(), counter(), counter(), counter()
    a.add_on(blocking)
    b.add_on(free)
    c.add_on(None)
    d.add_on(blocking)
    assert host.hip.hipStreamSynchronize(None) == SUCCESS
    assert (a.value, b.value, c.value, d.value) == (1, 0, 1, 0)
    c.add_on(None)
    d.add_on(blocking)
    assert host.hip.hipStreamSynchronize(blocking) == SUCCESS
    assert (c.value, d.value, b.value) == (2, 2, 0)


def test_a_wait_for_an_event_orders_two_streams(host: Host, counter: Callable[[], Counter]) -> None:
    first, second = host.stream(NON_BLOCKING), host.stream(NON_BLOCKING)
    before, after, waiting = counter(), counter(), counter()
    event = host.event()
    before.add_on(first)
    assert host.hip.hipEventRecord(event, first) == SUCCESS
    after.add_on(first)
    assert host.hip.hipStreamWaitEvent(second, event, 0) == SUCCESS
    waiting.add_on(second)
    assert host.hip.hipStreamSynchronize(second) == SUCCESS
    assert (before.value, waiting.value, after.value) == (1, 1, 0)


def test_a_wait_keeps_the_recording_that_it_saw(host: Host, counter: Callable[[], Counter]) -> None:
    first, second, c, event = host.stream(NON_BLOCKING), host.stream(NON_BLOCKING), counter(), host.event()
    c.add_on(first)
    host.hip.hipEventRecord(event, first)
    host.hip.hipStreamWaitEvent(second, event, 0)
    c.add_on(first)
    host.hip.hipEventRecord(event, first)  # later: not what the second stream waits for
    host.hip.hipStreamSynchronize(second)
    assert c.value == 1
    host.hip.hipEventSynchronize(event)
    assert c.value == 2


def test_polling_makes_progress(host: Host, counter: Callable[[], Counter]) -> None:
    stream, event, c = host.stream(NON_BLOCKING), host.event(), counter()
    assert host.hip.hipEventQuery(event) == SUCCESS  # never recorded
    for _ in range(3):
        c.add_on(stream)
    host.hip.hipEventRecord(event, stream)
    seen = []
    while host.hip.hipEventQuery(event) == NOT_READY:
        seen.append(c.value)
    assert seen == [1, 2, 3, 3]
    c.add_on(stream)
    assert host.hip.hipStreamQuery(stream) == NOT_READY
    assert host.hip.hipStreamQuery(stream) == SUCCESS
    assert c.value == 4
    assert host.hip.hipGetLastError() == SUCCESS


def test_elapsed_time(host: Host, counter: Callable[[], Counter]) -> None:
    start, stop, c, milliseconds = host.event(), host.event(), counter(), ctypes.c_float(-1)
    elapsed = lambda: host.hip.hipEventElapsedTime(ctypes.byref(milliseconds), start, stop)  # noqa: E731
    assert elapsed() == INVALID_HANDLE
    host.hip.hipEventRecord(start, None)
    c.add_on(None)
    host.hip.hipEventRecord(stop, None)
    assert elapsed() == NOT_READY
    assert host.hip.hipEventSynchronize(stop) == SUCCESS
    assert elapsed() == SUCCESS
    assert milliseconds.value > 0


def test_copies_are_late_from_pinned_and_at_once_from_pageable(host: Host) -> None:
    source, device = np.zeros(4, np.int32), host.malloc(16)
    pinned = ctypes.c_void_p()
    host.hip.hipHostMalloc(ctypes.byref(pinned), ctypes.c_size_t(16), 0)
    view = np.ctypeslib.as_array((ctypes.c_int32 * 4).from_address(pinned.value or 0))
    stream = host.stream()
    view[:] = 1
    assert host.hip.hipMemcpyAsync(device.pointer, pinned, 16, HOST_TO_DEVICE, stream) == SUCCESS
    view[:] = 2  # a race on a GPU: here the copy always loses it
    assert device.download(np.int32).tolist() == [2] * 4
    assert host.hip.hipMemcpyAsync(device.pointer, source.ctypes, 16, DEFAULT, stream) == SUCCESS
    source[:] = 9
    assert device.download(np.int32).tolist() == [0] * 4


def test_a_host_function_runs_in_its_turn(host: Host, counter: Callable[[], Counter]) -> None:
    c, seen = counter(), []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    @function
    def look(_: int) -> None:
        seen.append(c.value)

    c.add_on(None)
    assert host.hip.hipLaunchHostFunc(None, look, None) == SUCCESS
    c.add_on(None)
    assert seen == []
    host.synchronize()
    assert seen == [1]


def test_handles_that_do_not_exist_are_refused(host: Host) -> None:
    stream, event = host.stream(), host.event()
    assert host.hip.hipStreamDestroy(stream) == SUCCESS
    assert host.hip.hipEventDestroy(event) == SUCCESS
    for call in (host.hip.hipStreamSynchronize, host.hip.hipStreamQuery, host.hip.hipStreamDestroy):
        assert call(stream) == INVALID_HANDLE
    for call in (host.hip.hipEventSynchronize, host.hip.hipEventQuery, host.hip.hipEventDestroy):
        assert call(event) == INVALID_HANDLE
    assert host.hip.hipEventRecord(host.event(), stream) == INVALID_HANDLE
    assert "destroyed" in host.text()


def test_free_async_waits_for_the_work_before_it(host: Host, load: Load) -> None:
    stream = host.stream(NON_BLOCKING)
    pointer = ctypes.c_void_p()
    assert host.hip.hipMallocAsync(ctypes.byref(pointer), ctypes.c_size_t(4), stream) == SUCCESS
    load("faults").launch_add_one(pointer, 1, 1, stream)
    assert host.hip.hipFreeAsync(pointer, stream) == SUCCESS
    assert host.hip.hipStreamSynchronize(stream) == SUCCESS
    assert host.hip.hipFree(pointer) != SUCCESS


def test_the_per_thread_stream_is_one_for_each_thread(host: Host, counter: Callable[[], Counter]) -> None:
    per_thread, c = ctypes.c_void_p(2), counter()
    host.hip.hipStreamSynchronize(per_thread)
    other = threading.Thread(target=lambda: c.add_on(per_thread))
    other.start()
    other.join()
    host.hip.hipStreamSynchronize(per_thread)
    assert c.value == 0
    host.synchronize()
    assert c.value == 1


def test_os_threads_use_hip_at_the_same_time(host: Host, load: Load) -> None:
    host.settings.set_threads(3)
    library, results = load("basics"), {}

    def work(number: int) -> None:
        x = np.arange(500, dtype=np.float32) + number
        stream = host.stream(NON_BLOCKING)
        good = True
        for _ in range(25):
            dx, dy = host.array(x), host.array(x)
            library.launch_saxpy(dy.pointer, dx.pointer, 500, 4, stream)
            good &= host.hip.hipStreamSynchronize(stream) == SUCCESS
            good &= np.array_equal(dy.download(np.float32), 3 * x)
            good &= host.hip.hipFree(dx.pointer) == host.hip.hipFree(dy.pointer) == SUCCESS
        results[number] = good

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == dict.fromkeys(range(4), True)
