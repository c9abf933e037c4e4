"""Captures: what a stream was given meanwhile runs when the graph is launched, and calls that wait are refused."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import HOST_TO_DEVICE, SUCCESS, Host
from .test_runtime_order import NON_BLOCKING, Streams

UNSUPPORTED, INVALIDATED, UNJOINED, ISOLATION, IMPLICIT = 900, 901, 904, 905, 906
SIZE = ctypes.c_size_t(16)
Load = Callable[..., ctypes.CDLL]


class Capture:
    """A capture of the first of two streams."""

    def __init__(self, host: Host, library: ctypes.CDLL) -> None:
        self.hip, self.host, self.streams = host.hip, host, Streams(host, library)
        self.stream, self.memory, self.graph = self.streams.mine, ctypes.c_void_p(), ctypes.c_void_p()
        self.mark = host.settings.incidents()

    def begin(self) -> None:
        assert self.hip.hipStreamBeginCapture(self.stream, 0) == SUCCESS

    def end(self) -> int:
        code = int(self.hip.hipStreamEndCapture(self.stream, ctypes.byref(self.graph)))
        self.hip.hipGetLastError()
        return code

    def launch(self) -> None:
        executable = ctypes.c_void_p()
        assert self.hip.hipGraphInstantiateWithFlags(ctypes.byref(executable), self.graph, 0) == SUCCESS
        assert self.hip.hipGraphLaunch(executable, self.stream) == SUCCESS
        assert self.hip.hipGraphExecDestroy(executable) == SUCCESS
        assert self.streams.wait(self.stream) == SUCCESS

    @property
    def incidents(self) -> list[str]:
        return [incident.text for incident in self.host.settings.incidents_since(self.mark)]


@pytest.fixture
def capture(host: Host, load: Load) -> Capture:
    return Capture(host, load("order"))


def test_a_graph_runs_what_was_captured_each_time(host: Host, capture: Capture) -> None:
    s = capture.streams
    capture.begin()
    s.consume(s.mine)
    assert capture.end() == SUCCESS
    s.wait(s.mine)
    assert s.seen == 0
    for value in (3, 4):
        s.produce(s.mine, value)
        capture.launch()
        assert s.seen == value
    assert capture.incidents == []


def test_another_stream_joins_by_events(host: Host, capture: Capture) -> None:
    s = capture.streams
    capture.begin()
    s.join(s.other, s.mine)
    s.produce(s.other)
    s.join(s.mine, s.other)
    s.consume(s.mine)
    assert capture.end() == SUCCESS
    capture.launch()
    assert s.seen == 7


def test_a_stream_that_is_not_joined_again_spoils_it(host: Host, capture: Capture) -> None:
    s = capture.streams
    capture.begin()
    s.join(s.other, s.mine)
    s.produce(s.other)
    assert capture.end() == UNJOINED


def test_stream_ordered_memory_lives_as_long_as_the_graph(host: Host, capture: Capture) -> None:
    s = capture.streams
    capture.begin()
    assert host.hip.hipMallocAsync(ctypes.byref(capture.memory), SIZE, s.mine) == SUCCESS
    s.library.launch_produce(capture.memory, 5, s.mine)
    s.library.launch_consume(s.result.pointer, capture.memory, s.mine)
    assert host.hip.hipFreeAsync(capture.memory, s.mine) == SUCCESS
    assert capture.end() == SUCCESS
    for _ in range(2):
        capture.launch()
        assert s.seen == 5
    assert host.hip.hipGraphDestroy(capture.graph) == SUCCESS
    assert capture.incidents == []


REFUSED = {
    "hipMalloc": lambda c: c.hip.hipMalloc(ctypes.byref(c.memory), SIZE),
    "hipHostMalloc": lambda c: c.hip.hipHostMalloc(ctypes.byref(c.memory), SIZE, 0),
    "hipFree": lambda c: c.hip.hipFree(c.streams.cell.pointer),
    "hipDeviceSynchronize": lambda c: c.hip.hipDeviceSynchronize(),
    "hipStreamSynchronize": lambda c: c.hip.hipStreamSynchronize(c.stream),
    "hipStreamQuery": lambda c: c.hip.hipStreamQuery(c.stream),
    "hipEventSynchronize": lambda c: c.hip.hipEventSynchronize(c.host.event()),
    "hipMemcpy": lambda c: c.hip.hipMemcpy(c.streams.cell.pointer, np.zeros(4).ctypes, 16, HOST_TO_DEVICE),
    "hipMemcpyAsync": lambda c: c.hip.hipMemcpyAsync(
        c.streams.cell.pointer, np.zeros(4).ctypes, 16, HOST_TO_DEVICE, c.stream
    ),
    "hipMemset": lambda c: c.hip.hipMemset(c.streams.cell.pointer, 0, SIZE),
    "kernel produce": lambda c: c.streams.produce(None) or IMPLICIT,
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_cannot_be_captured_is_refused_by_name(host: Host, capture: Capture, call: str) -> None:
    capture.begin()
    assert REFUSED[call](capture) in (UNSUPPORTED, IMPLICIT)
    assert capture.end() == INVALIDATED
    assert capture.incidents[0].startswith(f"{call}: it cannot be captured into a graph: ")
    assert REFUSED[call](capture) != UNSUPPORTED  # afterwards it works as ever


def test_an_event_from_outside_cannot_be_waited_for(host: Host, capture: Capture) -> None:
    s, event = capture.streams, host.event()
    assert host.hip.hipEventRecord(event, s.other) == SUCCESS
    capture.begin()
    assert host.hip.hipStreamWaitEvent(s.mine, event, 0) == ISOLATION
    assert capture.end() == INVALIDATED


def test_one_capture_at_a_time_and_never_of_the_null_stream(host: Host, capture: Capture) -> None:
    assert host.hip.hipStreamBeginCapture(None, 0) == UNSUPPORTED
    capture.begin()
    assert host.hip.hipStreamBeginCapture(host.stream(NON_BLOCKING), 0) != SUCCESS
    assert capture.end() == SUCCESS
    assert capture.end() != SUCCESS
