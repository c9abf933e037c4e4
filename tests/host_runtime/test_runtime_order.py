"""Two streams that nothing orders: either may come first, and a schedule says which; --race names the two."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import LAUNCH_FAILURE, SUCCESS, Host, address

NON_BLOCKING = 1
DEVICE_TO_DEVICE = 3
ILLEGAL_STATE = 401
Load = Callable[..., ctypes.CDLL]


class Streams:
    """Two non-blocking streams, a cell that one writes and the other copies, and the kernels for that."""

    def __init__(self, host: Host, library: ctypes.CDLL) -> None:
        self.host, self.library = host, library
        self.mine, self.other = host.stream(NON_BLOCKING), host.stream(NON_BLOCKING)
        self.cell, self.result = (host.array(np.zeros(4, np.int32), name) for name in ("cell", "result"))

    def produce(self, stream: ctypes.c_void_p | None, value: int = 7) -> None:
        self.library.launch_produce(self.cell.pointer, value, stream)

    def consume(self, stream: ctypes.c_void_p | None) -> None:
        self.library.launch_consume(self.result.pointer, self.cell.pointer, stream)

    def join(self, waiting: ctypes.c_void_p | None, behind: ctypes.c_void_p | None) -> None:
        event = self.host.event()
        assert self.host.hip.hipEventRecord(event, behind) == SUCCESS
        assert self.host.hip.hipStreamWaitEvent(waiting, event, 0) == SUCCESS

    def wait(self, stream: ctypes.c_void_p | None) -> int:
        return int(self.host.hip.hipStreamSynchronize(stream))

    @property
    def seen(self) -> int:
        return int(self.result.download(np.int32)[0])


@pytest.fixture
def streams(host: Host, load: Load) -> Streams:
    return Streams(host, load("order"))


@pytest.fixture
def watched(host: Host, build_kernels) -> Streams:
    return Streams(host, ctypes.CDLL(str(build_kernels("order", race=True))))


def no_event(s: Streams) -> None:
    s.produce(s.other)
    s.consume(s.mine)


def event_recorded_too_early(s: Streams) -> None:
    s.join(s.mine, s.other)
    s.produce(s.other)
    s.consume(s.mine)


def null_stream(s: Streams) -> None:
    s.produce(None)
    s.consume(s.mine)


def fill_on_the_null_stream(s: Streams) -> None:
    s.host.hip.hipMemset(s.cell.pointer, 7, ctypes.c_size_t(16))
    s.consume(s.mine)


def event(s: Streams) -> None:
    s.produce(s.other)
    s.join(s.mine, s.other)
    s.consume(s.mine)


def event_by_way_of_a_third(s: Streams) -> None:
    third = s.host.stream(NON_BLOCKING)
    s.produce(s.other)
    s.join(third, s.other)
    s.join(s.mine, third)
    s.consume(s.mine)


def host_wait(s: Streams) -> None:
    s.produce(s.other)
    s.wait(s.other)
    s.consume(s.mine)


def one_stream(s: Streams) -> None:
    s.produce(s.mine)
    s.consume(s.mine)


UNORDERED = (no_event, event_recorded_too_early, null_stream, fill_on_the_null_stream)
ORDERED = (event, event_by_way_of_a_third, host_wait, one_stream)


@pytest.mark.parametrize("program", UNORDERED, ids=lambda one: one.__name__)
@pytest.mark.parametrize("waits_first", ["mine", "other", "null", "all"])
def test_unordered_work_meets_in_both_orders(host: Host, load: Load, program, waits_first: str) -> None:
    seen = set()
    for schedule in ("forward", "reverse"):
        host.settings.set_schedule(schedule)
        s = Streams(host, load("order"))
        program(s)
        if waits_first == "all":
            assert host.synchronize() == SUCCESS
        else:
            assert s.wait({"mine": s.mine, "other": s.other, "null": None}[waits_first]) == SUCCESS
        host.synchronize()
        seen.add(s.seen != 0)
    assert seen == {False, True}


@pytest.mark.parametrize("program", ORDERED, ids=lambda one: one.__name__)
@pytest.mark.parametrize("schedule", ["forward", "reverse", "lockstep", "random:1", "random:2"])
def test_ordered_work_stays_in_its_order(host: Host, streams: Streams, program, schedule: str) -> None:
    host.settings.set_schedule(schedule)
    program(streams)
    assert streams.wait(streams.mine) == SUCCESS
    assert streams.seen == 7


@pytest.mark.parametrize("program", UNORDERED, ids=lambda one: one.__name__)
@pytest.mark.parametrize("schedule", ["forward", "reverse"])
def test_a_race_between_streams_is_named(host: Host, watched: Streams, program, schedule: str) -> None:
    host.settings.set_schedule(schedule)
    program(watched)
    assert host.synchronize() == LAUNCH_FAILURE
    assert host.fault().kind == "race"
    text = host.fault().text
    assert "race on cell, offset " in text
    assert "have neither a stream, an event nor a wait that orders them" in text
    assert "order.hip.cpp:" in text or "hipMemset: " in text


@pytest.mark.parametrize("program", ORDERED, ids=lambda one: one.__name__)
@pytest.mark.parametrize("schedule", ["forward", "reverse"])
def test_ordered_streams_do_not_race(host: Host, watched: Streams, program, schedule: str) -> None:
    host.settings.set_schedule(schedule)
    program(watched)
    assert host.synchronize() == SUCCESS, host.text()


def test_a_copy_races_with_a_kernel(host: Host, watched: Streams) -> None:
    watched.produce(watched.other)
    copy = host.hip.hipMemcpyAsync
    assert copy(watched.result.pointer, watched.cell.pointer, 16, DEVICE_TO_DEVICE, watched.mine) == SUCCESS
    assert host.synchronize() == LAUNCH_FAILURE
    sentence = "hipMemcpyAsync: race on cell, offset 0: its read of 16 bytes and the write by kernel produce have"
    assert sentence in host.text() or "the read by hipMemcpyAsync" in host.text()


WHOLE, HALF, WORD, BYTE, LAST_BYTE = (0, 16), (8, 8), (8, 4), (8, 1), (15, 1)


@pytest.mark.parametrize("schedule", ["forward", "reverse"])
@pytest.mark.parametrize(
    ("first", "second", "offset"),
    [
        (WHOLE, WHOLE, 0),
        (WHOLE, WORD, 8),
        (WORD, WHOLE, 8),
        (WHOLE, LAST_BYTE, 15),
        (HALF, BYTE, 8),
        (WORD, (0, 8), None),
        (LAST_BYTE, (8, 7), None),
    ],
)
def test_two_copies_race_where_they_overlap(
    host: Host, watched: Streams, schedule: str, first: tuple[int, int], second: tuple[int, int], offset: int | None
) -> None:
    """A copy of a whole buffer is noted without a cell for each word: parts of it are found as before."""
    host.settings.set_schedule(schedule)
    for (at, size), stream in ((first, watched.mine), (second, watched.other)):
        target, source = (address(one.pointer) + at for one in (watched.result, watched.cell))
        assert host.hip.hipMemcpyAsync(target, source, size, DEVICE_TO_DEVICE, stream) == SUCCESS
    assert host.synchronize() == (SUCCESS if offset is None else LAUNCH_FAILURE)
    if offset is not None:
        assert f"hipMemcpyAsync: race on result, offset {offset}: its write of " in host.text()


def test_a_copy_of_a_whole_buffer_races_with_the_kernel_that_reads_it(host: Host, watched: Streams) -> None:
    copy, source = host.hip.hipMemcpyAsync, host.array(np.zeros(4, np.int32), "source")
    assert copy(watched.cell.pointer, source.pointer, 16, DEVICE_TO_DEVICE, watched.other) == SUCCESS
    assert watched.wait(watched.other) == SUCCESS
    watched.consume(watched.mine)
    assert watched.wait(watched.mine) == SUCCESS, host.text()
    assert copy(watched.cell.pointer, source.pointer, 16, DEVICE_TO_DEVICE, watched.other) == SUCCESS
    watched.consume(watched.mine)
    assert host.synchronize() == LAUNCH_FAILURE
    assert "race on cell, offset 0: " in host.text()


def test_a_buffer_where_another_was_does_not_race(host: Host, watched: Streams) -> None:
    for _ in range(3):
        cell = ctypes.c_void_p()
        assert host.hip.hipMallocAsync(ctypes.byref(cell), ctypes.c_size_t(16), watched.other) == SUCCESS
        watched.library.launch_produce(cell, 1, watched.other)
        assert host.hip.hipFreeAsync(cell, watched.other) == SUCCESS
        watched.other = host.stream(NON_BLOCKING)
    assert host.synchronize() == SUCCESS, host.text()


def test_work_done_early_is_in_flight_until_a_wait(host: Host, streams: Streams) -> None:
    host.settings.set_schedule("reverse")
    streams.produce(streams.other)
    streams.consume(streams.mine)
    assert streams.wait(streams.mine) == SUCCESS
    mine = streams.mine.value or 0
    assert host.settings.work_in_flight(mine) == (1, "kernel produce on a stream of its own")
    assert streams.wait(streams.other) == SUCCESS
    assert host.settings.work_in_flight(mine) == (0, "")


def pinned(host: Host) -> ctypes.c_void_p:
    memory = ctypes.c_void_p()
    assert host.hip.hipHostMalloc(ctypes.byref(memory), ctypes.c_size_t(16), 0) == SUCCESS
    return memory


def copy_to_pinned(s: Streams, memory: ctypes.c_void_p) -> None:
    assert s.host.hip.hipMemcpyAsync(memory, s.cell.pointer, 16, 2, s.other) == SUCCESS


def test_pinned_memory_freed_under_a_pending_copy(host: Host, streams: Streams) -> None:
    mark, memory = host.settings.incidents(), pinned(host)
    copy_to_pinned(streams, memory)
    host.hip.hipHostFree(memory)
    (incident,) = host.settings.incidents_since(mark)
    assert incident.text.startswith("hipHostFree: buffer #")
    assert "is given back while hipMemcpyAsync on a stream of its own uses it" in incident.text


def test_pinned_memory_freed_after_a_wait(host: Host, streams: Streams) -> None:
    mark, memory = host.settings.incidents(), pinned(host)
    copy_to_pinned(streams, memory)
    streams.join(streams.mine, streams.other)
    assert streams.wait(streams.mine) == SUCCESS
    assert host.hip.hipHostFree(memory) == SUCCESS
    assert host.settings.incidents_since(mark) == []


def test_a_host_function_may_not_call_hip(host: Host, streams: Streams) -> None:
    mark, codes = host.settings.incidents(), []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: codes.append(host.hip.hipDeviceSynchronize()))
    assert host.hip.hipLaunchHostFunc(streams.mine, function, None) == SUCCESS
    assert streams.wait(streams.mine) == SUCCESS
    assert codes == [ILLEGAL_STATE]
    (incident,) = host.settings.incidents_since(mark)
    assert incident.text.startswith("hipDeviceSynchronize: called by a host function of a stream")
    host.hip.hipGetLastError()


def test_a_write_that_misses_its_buffer_meets_no_other(host: Host, load: Load) -> None:
    """Wherever buffers of one size are, the way from one to the next leads from no other to a third."""
    at = [host.malloc(4096).pointer.value or 0 for _ in range(24)]
    distances = [b - a for a, b in itertools.pairwise(at)]
    assert len(set(distances)) == len(distances)
    assert min(map(abs, distances)) > 1 << 24
    load("order").launch_write_away(ctypes.c_void_p(at[0]), ctypes.c_long(distances[1]))
    assert host.synchronize() != SUCCESS
    assert "which belongs to no buffer" in host.text()
