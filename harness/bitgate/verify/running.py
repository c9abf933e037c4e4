"""One launch of a case: buffers between guards, poison, the kernel, what it left, and its effects in the runtime.

Effects are errors that the library swallowed and work that it did not wait for; the runtime itself reports both
(runtime/ledger.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import string_at
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Protocol

import numpy as np

from bitgate.core import compute_sanitizer
from bitgate.kernel.abi import EventKind
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.errors import KernelFailed
from bitgate.kernel.runner import LibraryState, Runner
from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError
from bitgate.runtime.host import DeviceFault
from bitgate.runtime.ledger import Incident, take_last_error
from bitgate.runtime.race_log import RACE_FAULT, EmulatorLedger, located
from bitgate.runtime.sanitizer_log import SANITIZER_FAULT
from bitgate.runtime.seen_work import FILL, KERNEL, SeenWork
from bitgate.verify.guarded import Buffers
from bitgate.verify.poison import SCRATCH_BYTES, poisoned
from bitgate.verify.watch import Watch, WatchedLibrary, format_changes

WORKSPACE = "workspace"
"""The name of the workspace's buffer."""
RESULT, SCRATCH, EVERYTHING = "result", "scratch", "everything"
CLEARABLE = {
    RESULT: "the result's memory",
    WORKSPACE: "the workspace",
    SCRATCH: "LDS, or memory of the library itself,",
}
"""Memory that a probe may clear before a launch, where a case has poison, and its name."""


@dataclass(frozen=True)
class LaunchConfig:
    """The conditions of a launch: ``placement`` puts the buffers' ends (right) or begins (left) at a guard,
    ``schedule`` orders a block's threads (empty where the device does). Left-aligned buffers also begin with the other
    poison."""

    placement: str
    schedule: str
    cleared: str = ""
    """The memory of CLEARABLE, or EVERYTHING, that begins with zeros instead of poison; empty: none."""

    @property
    def poison(self) -> int:
        """The number of the poison (poison.py) that fills memory before the launch."""
        return int(self.placement == "left")

    def clears(self, memory: str) -> bool:
        return self.cleared in (memory, EVERYTHING)

    @property
    def description(self) -> str:
        order = f"{self.schedule} schedule, " if self.schedule else ""
        return f"{order}{self.placement}-aligned buffers"

    def arrange(self, device: Device) -> None:
        """Set up the device for the launch."""
        if self.schedule:
            device.set_schedule(self.schedule)
        if device.host is not None:
            device.set_poison_byte(0 if self.clears(SCRATCH) else SCRATCH_BYTES[self.poison])


class Work(WatchedLibrary, Protocol):
    """Work for a device: a launch of a kernel, or the steps of a capsule."""

    @property
    def subject(self) -> object:
        """The thing that a library may keep memory for, at its first launch on it; None if it may at any launch."""

    def start(self, buffers: Mapping[str, Buffer], stream: int) -> DispatchRecord | None:
        """Start on ``stream``, with the buffers by name; it need not have ended when this returns.

        Raises HipError, KernelRefused or KernelFailed.
        """


@dataclass(frozen=True)
class KernelWork:
    """A kernel that is loaded here, on a problem, with ``workspace`` bytes of workspace."""

    runner: Runner
    problem: Problem
    workspace: int

    @property
    def kernel(self) -> str:
        """The name ``family.instance``."""
        return f"{self.family.name}.{self.runner.instance.name}"

    @property
    def family(self) -> KernelFamily:
        return self.runner.family

    @property
    def conduct(self) -> LibraryState:
        return self.runner.conduct

    @property
    def subject(self) -> object:
        return self.runner, self.problem

    def start(self, buffers: Mapping[str, Buffer], stream: int) -> DispatchRecord:
        pointers = pointers_of(self.problem, buffers)
        scratch = buffers.get(WORKSPACE)
        workspace = (0, 0) if scratch is None else (scratch.pointer, scratch.bytes)
        return self.runner.launch(self.problem, pointers, workspace, stream)


def pointers_of(problem: Problem, buffers: Mapping[str, Buffer]) -> dict[str, int]:
    """Return the addresses of the buffers, with those of inputs that share the result's memory."""
    pointers = {name: buffer.pointer for name, buffer in buffers.items()}
    return pointers | dict.fromkeys(problem.in_place, pointers[problem.result])


@dataclass(eq=False)
class LaunchResult:
    """The result of one launch. ``outputs`` holds all of them by role, unless it crashed or did damage; their memory is
    used again by the next launch. ``results`` holds those that are not the reference's, bit for bit
    (``Reference.hold``).

    ``crash`` says how the kernel failed, ``damage`` what it wrote or changed outside its outputs, ``changes`` what it
    changed in its process; each is empty if there is nothing.
    """

    config: LaunchConfig
    record: DispatchRecord | None = None
    outputs: dict[str, HostTensor] = field(default_factory=dict)
    results: dict[str, HostTensor] = field(default_factory=dict)
    crash: str = ""
    damage: str = ""
    changes: list[str] = field(default_factory=list)
    fault: DeviceFault | None = None
    seen: Sequence[SeenWork] | None = None
    """The launches and fills that the runtime saw; None where it reports none."""
    seconds: dict[str, float] = field(default_factory=lambda: {"kernel": 0.0, "compare": 0.0})
    began: float = 0.0
    """Time of ``perf_counter`` when all preparations of the launch had ended."""


def run_once(
    device: Device,
    work: KernelWork,
    inputs: Mapping[str, HostTensor],
    outputs: Mapping[str, HostTensor],
    config: LaunchConfig,
) -> LaunchResult:
    """Launch once, inspect everything, and copy the ``outputs``.

    Raises HipError if memory runs out, KernelRefused if the library refuses now.
    """
    return run_in_turn(device, work, [(inputs, outputs)], config)[0]


def run_in_turn(
    device: Device,
    work: KernelWork,
    turns: Sequence[tuple[Mapping[str, HostTensor], Mapping[str, HostTensor]]],
    config: LaunchConfig,
) -> list[LaunchResult]:
    """Launch as ``run_once`` does on each of the inputs, in the same buffers, and copy each into its outputs.

    Nothing follows a launch that failed.
    """
    runs: list[LaunchResult] = []
    with Buffers(device, config.placement) as buffers:
        for inputs, outputs in turns:
            runs.append(LaunchResult(config))
            fill(buffers, work, inputs, config)
            run_in(buffers, device, work, inputs, outputs, runs[-1])
            if runs[-1].crash or runs[-1].damage or runs[-1].changes:
                break
    add_damage(runs[-1], buffers)
    return runs


def blank_outputs(problem: Problem) -> dict[str, HostTensor]:
    """Return memory of this process for the outputs."""
    tensors = {role: problem.tensors[role] for role in problem.outputs}
    return {role: HostTensor(one, np.empty(one.space, one.dtype.numpy)) for role, one in tensors.items()}


def fill(buffers: Buffers, work: KernelWork, inputs: Mapping[str, HostTensor], config: LaunchConfig) -> None:
    """Put the inputs into their buffers, and poison into the outputs and the workspace; missing buffers are added."""
    problem, shared = work.problem, work.problem.in_place
    contents = {name: tensor.storage for name, tensor in inputs.items() if name not in shared}
    for role in problem.outputs:
        in_place = shared if role == problem.result else ()
        before = inputs[in_place[0]] if in_place else poisoned(problem.tensors[role], config.poison)
        if config.clears(RESULT) and not in_place:
            before.bits[...] = 0
        contents[role] = before.storage
    buffers.put(contents)
    if work.workspace:
        byte = 0 if config.clears(WORKSPACE) else SCRATCH_BYTES[config.poison]
        poison_scratch(buffers.at(WORKSPACE, work.workspace), byte)


def poison_scratch(buffer: Buffer, byte: int) -> None:
    """Set every byte of a workspace, unless a sanitizer is to see which of them a kernel reads that it has not written.

    Zeros are set in any case: they are asked for.
    """
    if byte == 0 or compute_sanitizer.inside() != "initcheck":
        buffer.fill(byte)


def run_prepared(
    device: Device,
    work: Work,
    prepare: Callable[[Buffers], None],
    inputs: Mapping[str, HostTensor],
    outputs: Mapping[str, HostTensor],
    config: LaunchConfig,
) -> LaunchResult:
    """Run any work as ``run_once`` runs a launch; ``prepare`` adds its buffers and their first contents."""
    run = LaunchResult(config)
    with Buffers(device, config.placement) as buffers:
        prepare(buffers)
        run_in(buffers, device, work, inputs, outputs, run)
    add_damage(run, buffers)
    return run


def run_in(
    buffers: Buffers,
    device: Device,
    work: Work,
    inputs: Mapping[str, HostTensor],
    outputs: Mapping[str, HostTensor],
    run: LaunchResult,
) -> None:
    """Run work in buffers that are prepared; what it did goes to ``run``, what it computed to ``outputs``."""
    run.config.arrange(device)
    started = perf_counter()
    execute(device, work, buffers.named, run)
    run.seconds["kernel"] = perf_counter() - started
    if not run.crash and not run.damage:
        started = perf_counter()
        run.outputs, run.damage = dict(outputs), buffers.look(inputs, outputs)
        run.seconds["compare"] = perf_counter() - started


def add_damage(run: LaunchResult, buffers: Buffers) -> None:
    """Add what shows after the launch: the host runtime checks canaries once more as memory is freed, and a GPU that
    failed frees nothing."""
    run.damage = run.damage or buffers.damage
    run.crash = run.crash or buffers.failure
    if run.changes and not run.crash:
        run.damage = "; ".join(filter(None, [run.damage, format_changes(run.changes)]))


def execute(
    device: Device,
    work: Work,
    buffers: Mapping[str, Buffer],
    run: LaunchResult,
    ahead: Callable[[], None] | None = None,
) -> None:
    """Start the work and wait. Errors are written into the run, including those that the library did not report.

    ``ahead`` enqueues work on the device's stream that has not ended when the library is called.
    """
    mark = before_launch(device)
    run.began = perf_counter()
    watch = Watch(device, work)
    if ahead is not None:
        ahead()
    works, held = device.ledger.work_mark(), device.ledger.held_bytes()
    try:
        run.record = work.start(buffers, device.stream)
        device.wait()
    except (HipError, KernelFailed) as error:
        run.fault = device.fault()
        text = run.fault.text if run.fault is not None else str(error)
        if run.fault is not None and run.fault.kind in CORRUPTING:
            run.damage = text
        run.crash = text
    finally:
        run.changes = watch.changes(partial(_on_host, device, buffers))
        work.conduct.has_launched = True
    run.seen = _with_owners(device.ledger.work_since(works), buffers)
    left = after_launch(device, mark, buffers, reported=run.crash)
    run.changes += _kept_memory(device, work, held)
    run.fault = run.fault or left.fault
    run.damage = run.damage or left.damage
    run.crash = left.crash or run.crash
    if isinstance(device.ledger, EmulatorLedger) and left.fault is not None and run.record is not None:
        launches = [event.name for event in run.record.events if event.kind is EventKind.KERNEL]
        run.crash += located(device.ledger.last, launches)
    if run.crash and device.host is None:
        run.crash += launched_before(run.seen, run.record)


def _on_host(device: Device, buffers: Mapping[str, Buffer]) -> bytes:
    """Return the bytes of all buffers in the host's memory; none of a GPU's."""
    if device.host is None:
        return b""
    parts = ((one.pointer, run) for one in buffers.values() for run in device.runs_at(one.pointer, one.bytes))
    return b"".join(string_at(pointer + begin, end - begin) for pointer, (begin, end) in parts)


def launched_before(seen: Sequence[SeenWork] | None, record: DispatchRecord | None) -> str:
    """Return the words for the kernels that were launched before a GPU failed: it does not say which of them did.

    A runtime that does not know a kernel's name knows its address, as does the library's record.
    """
    kernels = [work for work in seen or () if work.kind == KERNEL]
    if not kernels:
        return ""
    last, known = kernels[-MOST_NAMED:], {event.function: event.name for event in record.events} if record else {}
    names = (
        f"{work.name or known.get(work.function, 'a kernel')} (grid {work.grid}, block {work.block})" for work in last
    )
    more = f", the last {len(last)} of {len(kernels)} kernels" if len(kernels) > len(last) else ""
    return f"; launched: {', '.join(names)}{more}"


def _kept_memory(device: Device, work: Work, before: int | None) -> list[str]:
    """Return a sentence on memory that the launch allocated and did not free, though it was not the first of its kind.

    A library may keep what it allocates at its first launch on a problem.
    """
    if work.subject is None or before is None or "device_memory" in work.family.changes:
        return []
    after, launched = device.ledger.held_bytes(), work.conduct.launched
    is_first = work.subject not in launched
    launched.add(work.subject)
    if is_first or after is None or after <= before:
        return []
    return [f"device memory: {after - before} bytes more are held after a further launch on the same problem"]


def _with_owners(seen: Sequence[SeenWork] | None, buffers: Mapping[str, Buffer]) -> Sequence[SeenWork] | None:
    """Mark the fills of memory that is the library's own: what it does there is its own matter."""

    def is_private(work: SeenWork) -> bool:
        end = work.address + work.bytes
        return not any(one.pointer < end and work.address < one.pointer + one.bytes for one in buffers.values())

    return seen and [replace(one, is_private=True) if one.kind == FILL and is_private(one) else one for one in seen]


CORRUPTING = frozenset({"lds_canary", "global_canary", "fp_environment"})
"""Faults of the host runtime that harm more than the launch they belong to: writes out of bounds that hit nothing else,
and a floating-point environment that the next block would have computed in."""

MOST_NAMED = 3
"""Kernels that the sentence on a failed GPU names."""
LEFT_IN_FLIGHT = "work was left in flight on a stream that is not the caller's"


@dataclass(frozen=True)
class LaunchEffects:
    """Errors that the library hid: ``crash`` and ``damage`` are as in ``LaunchResult``, empty if it hid nothing."""

    crash: str = ""
    damage: str = ""
    fault: DeviceFault | None = None


def before_launch(device: Device) -> int:
    """Wait for the harness's own work, clear old errors, and return the mark that ``after_launch`` needs."""
    device.synchronize()
    device.clear_fault()  # this also takes any error that earlier calls left
    return device.ledger.mark()


def after_launch(device: Device, mark: int, buffers: Mapping[str, Buffer], reported: str = "") -> LaunchEffects:
    """Return what happened since the mark, once the caller's stream has ended; all other work has ended afterwards.

    ``reported`` is the error that the library returned.
    """
    in_flight = device.ledger.in_flight(device.stream)
    try:
        device.synchronize()
        late = ""
    except HipError as error:
        late = str(error)
    incidents = device.ledger.since(mark)
    left = take_last_error(device.hip)
    fault = next((incident.fault for incident in incidents if incident.fault is not None), None)
    swallowed = _format_incidents(incidents, buffers) if incidents else late or left
    if in_flight:
        return LaunchEffects(damage="; ".join(filter(None, [f"{LEFT_IN_FLIGHT}: {in_flight}", swallowed])), fault=fault)
    if not swallowed:
        return LaunchEffects()
    if reported:
        why = "" if reported in swallowed else f": {swallowed}"
        if incidents and all(part in reported for part in incidents[0].text.split(": ")):
            why = why.replace(f": {incidents[0].text}", "", 1)  # a GPU's call fails with what its incident says
        return LaunchEffects(crash=reported + why, fault=fault)
    if fault is not None and fault.kind in (RACE_FAULT, SANITIZER_FAULT):  # a detector's log, which no library sees
        return LaunchEffects(crash=swallowed, fault=fault)
    sentence = f"{swallowed}; the library hid it and returned OK"
    corrupting = fault is not None and fault.kind in CORRUPTING
    return LaunchEffects(crash=sentence, damage=sentence if corrupting else "", fault=fault)


def _format_incidents(incidents: Sequence[Incident], buffers: Mapping[str, Buffer]) -> str:
    first = incidents[0]
    named = "".join(
        f" (buffer {name}, which belongs to the caller)"
        for name, buffer in buffers.items()
        if first.fault is None and buffer.pointer <= first.address < buffer.pointer + max(1, buffer.bytes)
    )
    more = f" (and {len(incidents) - 1} more after it)" if len(incidents) > 1 else ""
    return f"{first.text}{named}{more}"
