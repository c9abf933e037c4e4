"""Timed launches in a row: by device events, or on the host by a steady clock around the launches and the wait for
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import CDLL, POINTER, Structure, byref, c_char_p, c_double, c_float, c_int32, c_int64, c_uint64, c_void_p
from ctypes import cast as c_cast
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from time import perf_counter
from typing import Any, ClassVar

from bitgate.kernel.abi import AbiStatus, CBuffers
from bitgate.kernel.arguments import c_buffers
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.runner import LibraryRunner, Runner
from bitgate.model import Problem
from bitgate.numerics import native
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.errors import check, hip_error
from bitgate.runtime.tools import DeviceTools
from bitgate.worker.mapped import mapped_runtimes

_HIP = {
    "set_bytes": "hipMemsetAsync",
    "synchronize": "hipStreamSynchronize",
    "record_event": "hipEventRecord",
    "elapsed": "hipEventElapsedTime",
    "query_event": "hipEventQuery",
    "last_error": "hipGetLastError",
}

OVERWRITING = 0x5A


@dataclass(frozen=True)
class Sample:
    """Seconds a launch, of the device and of the thread that launches.

    ``queued``: the device began only after all launches had been queued.
    """

    seconds: float
    host_seconds: float
    queued: bool = False


@dataclass(frozen=True)
class Arguments:
    """The arguments of one launch: device pointers by role, and (pointer, bytes) of the workspace."""

    pointers: Mapping[str, int]
    workspace: tuple[int, int]


class _TimedCalls(Structure):
    """Mirror of ``TimedCalls`` in numerics/native/timed_calls.cpp."""

    _fields_: ClassVar[Any] = [
        *((name, c_void_p) for name in ("run", "problem")),
        ("instance", c_char_p),
        ("options", c_void_p),
        ("sets", POINTER(POINTER(CBuffers))),
        *((name, c_int64) for name in ("set_count", "first_set")),
        *((name, c_void_p) for name in ("record", "stream", *_HIP, "begin", "end", "overwritten")),
        ("overwritten_bytes", c_uint64),
        *((name, c_double) for name in ("seconds", "host_seconds")),
        *((name, c_int32) for name in ("status", "hip_error", "queued")),
    ]


class Clock:
    """The timer of launches on one device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.by_events = device.host is None
        """False on the host: its launches run on the threads that would record the events, so a steady clock is as
        good."""

    @property
    def name(self) -> str:
        return "device events" if self.by_events else "steady clock"

    @cached_property
    def events(self) -> tuple[int, int]:
        """The events of begin and end; null where time is not taken by events."""
        if not self.by_events:
            return 0, 0
        first, second = (check(self.device.hip.hipEventCreate(), "hipEventCreate") for _ in range(2))
        self._kept = first, second
        return int(first), int(second)

    @cached_property
    def functions(self) -> Mapping[str, Any]:
        """The HIP functions that C calls, from the runtime that this process has loaded."""
        runtime = CDLL(str(mapped_runtimes()[0]))
        return {name: getattr(runtime, hip) for name, hip in _HIP.items()}

    def of_calls(
        self,
        runner: LibraryRunner,
        problem: Problem,
        sets: Sequence[Arguments],
        launches: int,
        first: int = 0,
        overwritten: Buffer | None = None,
        hold: Callable[[], None] | None = None,
    ) -> Sample:
        """Time a library that is called in a loop of C.

        ``sets`` are used interleaved, beginning with number ``first``. ``overwritten`` is written over before the first
        launch; ``hold`` keeps the device back until all launches are queued. Raises KernelRefused, KernelFailed or
        HipError.
        """
        library = runner.library
        with library.prepared(problem, runner.instance, runner.options) as run:
            held = [c_buffers(run.problem.roles, one.pointers, one.workspace) for one in sets]
            pointers = (POINTER(CBuffers) * len(held))(*(c_cast(byref(one), POINTER(CBuffers)) for one in held))
            begin, end = self.events
            calls = _TimedCalls(
                run=c_cast(run.function, c_void_p),
                problem=c_cast(run.problem.reference, c_void_p),
                instance=run.instance,
                options=c_cast(byref(run.options), c_void_p),
                sets=pointers,
                set_count=len(held),
                first_set=first,
                record=c_cast(byref(run.record), c_void_p),
                stream=self.device.stream,
                begin=begin or None,
                end=end or None,
                overwritten=overwritten.pointer if overwritten else None,
                overwritten_bytes=overwritten.bytes if overwritten else 0,
                queued=hold is not None,
                **{name: c_cast(function, c_void_p) for name, function in self.functions.items()},
            )
            if hold is not None:
                hold()
            if not native.library()("bitgate_timed_calls")(byref(calls), launches):
                if calls.status != AbiStatus.OK:
                    raise library.failure(calls.status, run.record)
                raise hip_error(calls.hip_error, "a timed launch")
        return Sample(calls.seconds, calls.host_seconds, bool(calls.queued))

    def of_launches(
        self,
        runner: Runner,
        problem: Problem,
        sets: Sequence[Arguments],
        launches: int,
        first: int = 0,
        overwritten: Buffer | None = None,
        hold: Callable[[], None] | None = None,
    ) -> Sample:
        """Time launches of any kernel made by Python, like ``of_calls``.

        The time that Python takes between two launches is in ``host_seconds``, and in ``seconds`` where the device
        waits for it.
        """
        call, (begin, end), stream = self.functions, self.events, c_void_p(self.device.stream)
        if hold is not None:
            hold()
        if overwritten is not None:
            size = c_uint64(overwritten.bytes)
            self._do("set_bytes", c_void_p(overwritten.pointer), OVERWRITING, size, stream)
        if self.by_events:
            self._do("record_event", c_void_p(begin), stream)
        else:
            self._do("synchronize", stream)
        started = perf_counter()
        for number in range(first, first + launches):
            at = sets[number % len(sets)]
            runner.launch(problem, at.pointers, at.workspace, self.device.stream)
        launched = perf_counter()
        queued = hold is not None and call["query_event"](c_void_p(begin)) != 0
        if queued:
            call["last_error"]()  # an event that is not ready counts as one
        if self.by_events:
            self._do("record_event", c_void_p(end), stream)
        self._do("synchronize", stream)
        total = perf_counter() - started
        if self.by_events:
            total = self._elapsed()
        return Sample(total / launches, (launched - started) / launches, queued)

    def between_events(self, work: Callable[[], None]) -> float:
        """Return the seconds that the device takes for what ``work`` queues."""
        (begin, end), stream = self.events, c_void_p(self.device.stream)
        self._do("record_event", c_void_p(begin), stream)
        work()
        self._do("record_event", c_void_p(end), stream)
        self._do("synchronize", stream)
        return self._elapsed()

    def _elapsed(self) -> float:
        begin, end = self.events
        milliseconds = c_float()
        code = self.functions["elapsed"](byref(milliseconds), c_void_p(begin), c_void_p(end))
        if code:
            raise hip_error(code, _HIP["elapsed"])
        return 1e-3 * milliseconds.value

    def _do(self, name: str, *arguments: Any) -> None:
        if code := self.functions[name](*arguments):
            raise hip_error(code, _HIP[name])


SPARE = 1.5
"""A hold lasts this many times as long as the launches take to be queued,"""
LEAST_SECONDS = 1e-4
"""and this much longer."""
FIRST_GUESS = 2e-5
"""Seconds that queueing a launch is assumed to take before any was timed."""
MOST_SECONDS = 0.1
"""Longest hold: a launch that waits for the device itself is never queued, however long it is held."""
MOST_QUEUED = 384
"""Most fills, copies and launches of a sample: with some hundred in its queue a device blocks the thread."""
PROBE_TICKS, PROBES = 1_000_000, 3


def most_queued(record: DispatchRecord | None) -> int:
    """Return how many launches of a kernel a sample may have."""
    events = len(record.events) if record is not None else 0
    return max(1, MOST_QUEUED // max(1, events))


class QueueGate:
    """A gate that keeps a device busy until a sample's launches are queued, so that none waits for the thread that
    makes it.

    ``clock(work)`` gives the seconds that the device takes for what ``work`` queues.
    """

    def __init__(self, tools: DeviceTools, clock: Callable[[Callable[[], None]], float]) -> None:
        self._tools = tools
        self._ticks_a_second = 0.0
        self._clock = clock

    def begin(self, launches: int, seconds: float) -> None:
        """Hold what is queued next for as long as ``launches`` of ``seconds`` host seconds each need."""
        wanted = min(MOST_SECONDS, LEAST_SECONDS + SPARE * launches * (seconds or FIRST_GUESS))
        self._tools.hold(ceil(wanted * self._rate))

    @property
    def _rate(self) -> float:
        """Ticks a second, measured: the clock of the device may differ from its data sheet. The first hold loads the
        code."""
        if not self._ticks_a_second:
            self._tools.hold(1)
            seconds = min(self._clock(lambda: self._tools.hold(PROBE_TICKS)) for _ in range(PROBES))
            self._ticks_a_second = PROBE_TICKS / seconds
        return self._ticks_a_second
