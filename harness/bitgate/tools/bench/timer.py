"""The child's side of a timing: verified kernels are launched here, in samples, and a sample counts only if its result
is the verified one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from random import Random
from time import perf_counter
from typing import Any

from msgspec import convert

from bitgate.kernel.abi import EventKind
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.dispatch import TRANSPOSES, DispatchRecord
from bitgate.kernel.errors import KernelFailed, KernelRefused, LibraryError
from bitgate.kernel.runner import LibraryRunner, Runner
from bitgate.model import Problem
from bitgate.numerics.fill import FillPlan, plan_fill
from bitgate.results.record import UNKNOWN
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.caches import overwriting_bytes
from bitgate.runtime.errors import OUT_OF_MEMORY, HipError
from bitgate.tools.bench.buffer_set import PLACEMENT, BufferSet, differing, free_all, shortage
from bitgate.tools.bench.launches import Arguments, Clock, QueueGate, Sample, most_queued
from bitgate.tools.bench.settings import Settings
from bitgate.verify.deadline import BUFFERS, LAUNCH, WARM_UP
from bitgate.verify.on_device import DeviceData
from bitgate.verify.planned import PlannedCase, PlannedMessage
from bitgate.verify.problem_data import reference_kind
from bitgate.verify.repeat import OTHER_SEED
from bitgate.verify.running import LaunchConfig, after_launch, before_launch
from bitgate.verify.session import Session

GUEST = f"{__name__}:Timers"
"""Called through ``CaseProcess.call``."""

CHECKED_LAUNCHES = 4
"""Launches at the start that are checked one by one; fewer for a kernel that takes long."""
CHECKED_SECONDS = 0.5

LOOKED_BEHIND = 0.5
"""The share of samples of several launches after which one launch is checked by itself."""

MOST_LAUNCHES = 1000
"""Most launches in one sample: a device's queue is limited."""

MORE_ATTEMPTS = 2
"""More attempts at a sample: a preempted thread may not queue its launches in time."""

CASTS = frozenset({"kernel_finish"})
"""Launches that convert partial sums to the type of the result."""

AGREEING = 3
"""Number of last samples that agree when a warm-up ends."""


class WrongResult(Exception):
    """The result differs from the verified one, or other memory was written; the message says what."""


class InsufficientMemory(Exception):
    """There is no memory for a case's buffers."""


class Timers:
    """The timed cases of one problem, by number; cases with the same data share buffers."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._clock = Clock(session.opened.device)
        self._sets: list[tuple[Problem, FillPlan, list[BufferSet]]] = []
        self._timed: list[TimedCase] = []
        self._overwritten: Buffer | None = None
        self._hold: QueueGate | None = None

    def open(self, planned: dict[str, Any], settings: dict[str, Any], digest: str) -> dict[str, Any]:
        """Prepare a case that has passed with this digest, which is empty if its bits decide nothing.

        The first launches are checked one by one, then it is warmed up. The reply is ``wrong``, ``failed`` or ``short``
        (of memory), with the reason, for a case that cannot be timed.
        """
        case = convert(planned, PlannedMessage).planned(self._session.families)
        stated = Settings(**settings)

        def opened() -> dict[str, Any]:
            buffers = self._buffer_sets(case, stated), self._cold(stated)
            timed = TimedCase(self._session, self._clock, case, stated, digest, *buffers, self._queue_gate(stated))
            timed.begin()
            self._timed.append(timed)
            return {"number": len(self._timed) - 1, **timed.facts}

        return _reply(self._session, opened)

    def build(self, planned: dict[str, Any]) -> str:
        """Return the build of the case's kernel today, as in its row's fingerprint."""
        case = convert(planned, PlannedMessage).planned(self._session.families)
        try:
            self._session.load(case.kernel)
        except (BuildError, LibraryError):
            return UNKNOWN
        return self._session.fingerprint(case.kernel)["build"]

    def sample(self, number: int, batch: int = 0) -> dict[str, Any]:
        """Return the fields of a ``Sample`` of ``batch`` launches, where that is not 0; or ``wrong``, or ``failed``."""

        def sampled() -> dict[str, Any]:
            timed = self._timed[number]
            timed.batch = batch or timed.batch
            return vars(timed.sample())

        return _reply(self._session, sampled)

    def finish(self, number: int) -> dict[str, Any]:
        """Launch once more after all samples were taken, and a few times on other data."""

        def finished() -> dict[str, Any]:
            timed = self._timed[number]
            timed.launch_checked()
            if timed.digest and not shortage(timed.case.problem, self._session.opened.device, 1):
                timed.launch_on_others(self._data(timed.case, timed.case.seed + OTHER_SEED))
            return {}

        return _reply(self._session, finished)

    def close(self) -> None:
        """Free everything."""
        for _, _, sets in self._sets:
            free_all(sets)
        self._sets, self._timed = [], []
        if self._overwritten is not None:
            self._overwritten.free()
            self._overwritten = None

    def _buffer_sets(self, case: PlannedCase, settings: Settings) -> list[BufferSet]:
        problem = case.problem
        plan = self._plan(case, case.seed)
        self._session.stage(BUFFERS)
        for other, filled, known in self._sets:
            if (other, filled) == (problem, plan):
                return known
        wanted = max(1, settings.rotate)
        if words := shortage(problem, self._session.opened.device, wanted):
            raise InsufficientMemory(words)
        data = self._data(case, case.seed)
        sets: list[BufferSet] = []
        try:
            for _ in range(wanted):
                sets.append(BufferSet(self._session.opened.device, self._session.opened.tools, problem, data))
        except BaseException:
            free_all(sets)
            raise
        self._sets.append((problem, plan, sets))
        return sets

    def _queue_gate(self, settings: Settings) -> QueueGate | None:
        if not settings.queued:
            return None
        if self._hold is None:
            self._hold = QueueGate(self._session.opened.device_tools, self._clock.between_events)
        return self._hold

    def _plan(self, case: PlannedCase, seed: int) -> FillPlan:
        contract = case.kernel.instance.accumulation_for(case.problem)
        return plan_fill(case.problem, contract, case.fill, seed)

    def _data(self, case: PlannedCase, seed: int) -> DeviceData:
        tools, tensors, plan = self._session.opened.tools, case.problem.tensors, self._plan(case, seed)
        if all(tools.can_fill(tensors[name], own) for name, own in plan.tensors):
            return DeviceData(plan)
        return DeviceData(plan, self._session.inputs(case.problem, case.kernel.instance, case.fill, seed).tensors)

    def _cold(self, settings: Settings) -> Buffer | None:
        if settings.cold and self._overwritten is None:
            size = overwriting_bytes(self._session.opened.device)
            self._overwritten = self._session.opened.device.alloc(size, name="overwritten", placement=PLACEMENT)
        return self._overwritten if settings.cold else None


@dataclass(eq=False)
class TimedCase:
    """One verified case that is launched repeatedly."""

    session: Session
    clock: Clock
    case: PlannedCase
    settings: Settings
    digest: str
    sets: list[BufferSet]
    overwritten: Buffer | None
    hold: QueueGate | None

    def __post_init__(self) -> None:
        self.runner: Runner = self.session.opened.runner(self.case.kernel)
        self.workspace = self.runner.workspace(self.case.problem)
        self.is_native = isinstance(self.runner, LibraryRunner)
        self.batch = self.most = 1
        self.fastest = 0.0
        self.launched = 0
        self.record: DispatchRecord | None = None
        self.seconds = self.host_seconds = 0.0
        self._digest_here = ""
        self.draw = Random(self.settings.seed)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the timing that a row records."""
        return {
            "seconds": self.seconds,
            "fastest": self.fastest,
            "most": self.most,
            "launches": self.record.launches if self.record else 0,
            "includes": list(_other_work(self.record)) if self.record else [],
            "settings": {
                "batch": self.batch,
                "loop": "C" if self.is_native else "Python",
                "clock": self.clock.name,
                "overwritten_bytes": self.overwritten.bytes if self.overwritten else 0,
                "compared": "digest" if self.digest else "reference",
            },
        }

    def begin(self) -> None:
        started = perf_counter()
        self.session.stage(LAUNCH)
        for _ in range(CHECKED_LAUNCHES):
            self.launch_checked()
            if perf_counter() - started > CHECKED_SECONDS:
                break
        self.session.stage(WARM_UP)
        self._warm_up()

    def launch_checked(self, keeps: bool = False) -> None:
        """Launch once into blank outputs, or with ``keeps`` into outputs that still hold a part of the result.

        Raises WrongResult unless that gives the verified result.
        """
        buffers = self._next()
        if keeps:
            buffers.blank_part(self.draw)
        else:
            buffers.blank()
        self.record = self._launch(buffers)
        self._check(buffers)

    def launch_on_others(self, others: DeviceData) -> None:
        """Launch on other data in buffers that the kernel has used, and in fresh ones.

        Raises WrongResult if the results differ. A kernel that remembers data by their addresses need not compute, and
        is right and fast only while these stay the same.
        """
        buffers = self._next()
        own = buffers.data
        try:
            buffers.fill(others)
            here = self._digest_in(buffers)
        finally:
            buffers.fill(own)
        fresh = BufferSet(self.session.opened.device, self.session.opened.tools, self.case.problem, others)
        try:
            there = {self._digest_in(fresh) for _ in range(2)}
        finally:
            fresh.free()
        if len(there) == 1 and here not in there:
            raise WrongResult(
                f"{self._ordinal}: on other data in the buffers of the timing the result's digest is {here}, in fresh"
                f" ones {there.pop()}: it remembers data or results by their addresses"
            )

    def _digest_in(self, buffers: BufferSet) -> str:
        buffers.blank()
        self._launch(buffers)
        return buffers.inspect(self.workspace).digest

    def _launch(self, buffers: BufferSet) -> DispatchRecord:
        """Launch once and wait for the end."""
        arguments, device = buffers.arguments(self.workspace), self.session.opened.device
        self._arrange()
        record = self.runner.launch(self.case.problem, arguments.pointers, arguments.workspace, device.stream)
        device.wait()
        self.launched += 1
        return record

    def sample(self) -> Sample:
        """Take a sample, again where launches were to be queued and were not in time."""
        taken = self._sample()
        for _ in range(MORE_ATTEMPTS if self.hold is not None else 0):
            if taken.queued:
                break
            taken = self._sample()
        return taken

    def _sample(self) -> Sample:
        """Time ``batch`` launches between two readings of the clock, and check all buffers they used.

        A launch that finds the result of the one before in its outputs could do nothing unnoticed. So, at random, one
        more goes into outputs of which a part is blank, outside the timing.
        """
        end = self.launched + self.batch
        used = [self.sets[number % len(self.sets)] for number in range(max(self.launched, end - len(self.sets)), end)]
        for buffers in used:
            buffers.blank()
        mark = before_launch(self.session.opened.device)
        taken = self._take(self.batch)
        left = after_launch(self.session.opened.device, mark, {})
        if harm := left.damage or left.crash:  # work outside the timing, for example
            raise WrongResult(f"{self._ordinal}: {harm}")
        for buffers in used:
            self._check(buffers)
        if self.batch > len(self.sets) and self.draw.random() < LOOKED_BEHIND:
            self.launch_checked(keeps=True)
        return taken

    def _warm_up(self) -> None:
        """Launch until the last samples agree; then a sample has as many launches as it should."""
        settings, until = self.settings, perf_counter() + self.settings.warm_up_seconds
        seconds: list[float] = []
        most = MOST_LAUNCHES if self.hold is None else most_queued(self.record)
        self.most = 1 if self.case.problem.in_place or self.overwritten is not None else most
        while True:
            taken = self.sample()
            seconds.append(taken.seconds)
            self.fastest = min(seconds)
            wanted = ceil(settings.batch_seconds / max(taken.seconds, 1e-9))
            batch = max(1, min(self.most, wanted))
            last = seconds[-AGREEING:]
            grown = batch > 2 * self.batch
            if not grown and len(last) == AGREEING and max(last) <= (1 + settings.warm_up) * min(last):
                return
            if perf_counter() >= until and not grown:
                return
            self.batch = batch

    def _take(self, launches: int) -> Sample:
        self._arrange()
        sets: list[Arguments] = [buffers.arguments(self.workspace) for buffers in self.sets]
        problem, first = self.case.problem, self.launched
        self.launched += launches
        hold = None if self.hold is None else partial(self.hold.begin, launches, self.host_seconds)
        if isinstance(self.runner, LibraryRunner):
            taken = self.clock.of_calls(self.runner, problem, sets, launches, first, self.overwritten, hold)
        else:
            taken = self.clock.of_launches(self.runner, problem, sets, launches, first, self.overwritten, hold)
        self.seconds, self.host_seconds = taken.seconds, taken.host_seconds
        return taken

    def _next(self) -> BufferSet:
        return self.sets[self.launched % len(self.sets)]

    def _arrange(self) -> None:
        LaunchConfig(PLACEMENT, "forward" if self.session.opened.device.host is not None else "").arrange(
            self.session.opened.device
        )

    def _check(self, buffers: BufferSet) -> None:
        found = buffers.inspect(self.workspace)
        if found.damage:
            raise WrongResult(f"{self._ordinal}: {found.damage}")
        if self.digest:
            if found.digest != self.digest:
                raise WrongResult(f"{self._ordinal}: the result's digest is {found.digest}, verified was {self.digest}")
        elif found.digest != self._digest_here:  # the same bits as before need no second comparison
            self._compare(buffers)
            self._digest_here = found.digest

    def _compare(self, buffers: BufferSet) -> None:
        case, session = self.case, self.session
        problem, instance = case.problem, case.kernel.instance
        inputs = session.inputs(problem, instance, case.fill, case.seed)
        kind = reference_kind(problem, inputs.certificate.holds, case.kernel.family.is_reference)
        reference = session.reference(problem, instance, case.fill, case.seed, kind)
        for role, found in buffers.results().items():
            judge = reference.judges.get(role)
            if judge is not None:
                wrong = int(judge.outside(found.logical).sum())
            else:
                wrong = differing(found, reference.tensors[role])
            if wrong:
                raise WrongResult(f"{self._ordinal}: {wrong} cells of {role} are not within their bounds any more")

    @property
    def _ordinal(self) -> str:
        return f"after launch {self.launched} of the timing"


def _other_work(record: DispatchRecord) -> list[str]:
    """Name the parts of a launch that do not compute: fills, copies, transposes, casts."""
    found: dict[str, int] = {}
    for event in record.events:
        is_fill = event.kind is EventKind.MEMSET or event.name.startswith(("fill", "zero_fill"))
        if is_fill or event.kind is EventKind.COPY or event.name in TRANSPOSES | CASTS:
            found[event.name] = found.get(event.name, 0) + 1
    return [name if count == 1 else f"{count} x {name}" for name, count in found.items()]


def _reply(session: Session, work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    try:
        return dict(work())
    except WrongResult as error:
        return {"wrong": str(error)}
    except InsufficientMemory as error:
        return {"short": str(error)}
    except KernelRefused as error:
        return {"failed": f"refused to run: {error.refusal.clause}: {error.refusal.text}"}
    except (HipError, KernelFailed) as error:
        if isinstance(error, HipError) and error.name == OUT_OF_MEMORY:
            return {"short": str(error)}
        fault = session.opened.device.fault()
        return {"failed": fault.text if fault is not None else str(error)}
