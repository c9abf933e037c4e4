"""One launch of a case: buffers between guards, poison, the kernel, and what it left behind."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.device.buffers import Buffer
from bitgate.device.device import Device
from bitgate.device.errors import HipError
from bitgate.device.host import Fault
from bitgate.device.host_tools import changed_gaps
from bitgate.errors import UsageError
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.errors import KernelFailed
from bitgate.kernel.runner import Runner
from bitgate.operation import Problem
from bitgate.operation.host_tensor import HostTensor, has_gaps
from bitgate.verify.aftermath import CORRUPTING, after_launch, before_launch
from bitgate.verify.poison import SCRATCH_BYTES, poisoned
from bitgate.verify.watch import Watch, in_words

WORKSPACE_POISON = SCRATCH_BYTES[0]
"""Fills the workspace before a first launch: a NaN in the float types."""

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_memcmp.restype = ctypes.c_int


@dataclass(frozen=True)
class How:
    """``placement`` puts the buffers' ends (right) or begins (left) at a guard; ``schedule`` orders a block's threads,
    empty where the device does. Left-aligned buffers also begin with the other poison."""

    placement: str
    schedule: str

    @property
    def poison(self) -> int:
        """Which of the two poisons (poison.py) fills memory before the launch."""
        return int(self.placement == "left")

    @property
    def words(self) -> str:
        order = f"{self.schedule} schedule, " if self.schedule else ""
        return f"{order}{self.placement}-aligned buffers"

    def arrange(self, device: Device) -> None:
        """What the device is told before the launch."""
        if self.schedule:
            device.set_schedule(self.schedule)
        if device.host is not None:
            device.set_poison_byte(SCRATCH_BYTES[self.poison])


@dataclass(frozen=True)
class Launch:
    """What is launched: a kernel on a problem, with so many bytes of workspace."""

    runner: Runner
    problem: Problem
    workspace: int

    @property
    def kernel(self) -> str:
        """``family.instance``"""
        return f"{self.runner.family.name}.{self.runner.instance.name}"


@dataclass(eq=False)
class Run:
    """What one launch left. ``results`` holds, by role, the outputs whose memory is not the reference's, bit for bit.

    ``crash`` says what the kernel died of, ``damage`` what it wrote or changed that is not its own, ``changes`` what
    of its process; empty if nothing.
    """

    how: How
    record: DispatchRecord | None = None
    results: dict[str, HostTensor] = field(default_factory=dict)
    crash: str = ""
    damage: str = ""
    changes: list[str] = field(default_factory=list)
    fault: Fault | None = None
    seconds: dict[str, float] = field(default_factory=lambda: {"kernel": 0.0, "compare": 0.0})


def run_once(
    device: Device,
    launch: Launch,
    inputs: Mapping[str, HostTensor],
    reference: Mapping[str, HostTensor],
    how: How,
) -> Run:
    """Launch once and look at everything; ``reference`` holds each output by role.

    HipError if memory runs out, KernelRefused if the library refuses now."""
    run = Run(how)
    with Buffers(device, how) as buffers:
        shared = launch.problem.in_place
        for name, tensor in inputs.items():
            if name not in shared:
                buffers.add(name, tensor.storage.nbytes).upload(tensor.storage)
        for role, expected in reference.items():
            lies_there = shared if role == launch.problem.result else ()
            before = inputs[lies_there[0]] if lies_there else poisoned(expected.tensor, how.poison)
            buffers.add(role, expected.storage.nbytes).upload(before.storage)
        if launch.workspace:
            buffers.add(WORKSPACE, launch.workspace).fill(SCRATCH_BYTES[how.poison])
        how.arrange(device)
        started = perf_counter()
        execute(device, launch, buffers.named, run)
        run.seconds["kernel"] = perf_counter() - started
        if not run.crash and not run.damage:
            started = perf_counter()
            _inspect(device, buffers.named, inputs, reference, run)
            run.seconds["compare"] = perf_counter() - started
    add_damage(run, buffers)
    return run


def add_damage(run: Run, buffers: Buffers) -> None:
    """What shows behind the launch: the host runtime looks at canaries once more as memory is given back."""
    run.damage = run.damage or buffers.damage
    if run.changes and not run.crash:
        run.damage = "; ".join(filter(None, [run.damage, in_words(run.changes)]))


WORKSPACE = "workspace"


class Buffers:
    """The device memory of one launch, given back at the end whatever happened to it."""

    def __init__(self, device: Device, how: How) -> None:
        self.named: dict[str, Buffer] = {}
        self.damage = ""
        self._device = device
        self._how = how

    def add(self, name: str, size: int) -> Buffer:
        self.named[name] = buffer = self._device.alloc(size, name=name, placement=self._how.placement)
        return buffer

    def __enter__(self) -> Buffers:
        return self

    def __exit__(self, *_: object) -> None:
        for buffer in self.named.values():
            try:
                buffer.free()
            except HipError as error:
                fault = self._device.fault()
                self.damage = self.damage or (fault.text if fault is not None else str(error))


def compute_on_device(device: Device, launch: Launch, inputs: Mapping[str, HostTensor]) -> dict[str, HostTensor]:
    """The outputs of one launch of a kernel that is trusted. UsageError with what went wrong if it fails."""
    blank = {role: poisoned(launch.problem.tensors[role]) for role in launch.problem.outputs}
    schedule = "forward" if device.host is not None else ""
    run = run_once(device, launch, inputs, blank, How("right", schedule))
    if run.crash or run.damage or len(run.results) < len(blank):
        what = run.crash or run.damage or "it wrote nothing"
        raise UsageError(f"the reference kernel {launch.kernel} failed: {what}")
    return run.results


def execute(device: Device, launch: Launch, buffers: Mapping[str, Buffer], run: Run) -> None:
    """Launch and wait. What goes wrong is written into the run, also what the library did not tell."""
    mark = before_launch(device)
    pointers = {name: buffer.pointer for name, buffer in buffers.items()}
    pointers |= dict.fromkeys(launch.problem.in_place, pointers[launch.problem.result])
    scratch = buffers.get(WORKSPACE)
    workspace = (0, 0) if scratch is None else (scratch.pointer, scratch.bytes)
    watch = Watch(device, launch.runner)
    try:
        run.record = launch.runner.launch(launch.problem, pointers, workspace, device.stream)
        device.wait()
    except (HipError, KernelFailed) as error:
        run.fault = device.fault()
        text = run.fault.text if run.fault is not None else str(error)
        if run.fault is not None and run.fault.kind in CORRUPTING:
            run.damage = text
        run.crash = text
    finally:
        run.changes = watch.changes()
        launch.runner.conduct.has_launched = True
    left = after_launch(device, mark, buffers, told=run.crash)
    run.fault = run.fault or left.fault
    run.damage = run.damage or left.damage
    run.crash = left.crash or run.crash


def _inspect(
    device: Device,
    buffers: Mapping[str, Buffer],
    inputs: Mapping[str, HostTensor],
    reference: Mapping[str, HostTensor],
    run: Run,
) -> None:
    for role, expected in reference.items():
        if not _same(device, buffers[role], expected.storage):
            run.results[role] = _downloaded(buffers[role], expected)
    damages = []
    for buffer in buffers.values():
        damage = buffer.check_guards()
        if damage is not None:
            damages.append(damage.text)
    for name, tensor in inputs.items():
        if name in buffers and not _same(device, buffers[name], tensor.storage):
            damages.append(f"input {name} was changed: {_where_changed(buffers[name], tensor)}")
    for role, result in run.results.items():
        gaps = changed_gaps(result) if has_gaps(result.tensor) else np.empty(0)
        if gaps.size:
            damages.append(f"a gap between the rows of {role} was written (index {gaps[0]} of its memory)")
    run.damage = "; ".join(damages)


def _same(device: Device, buffer: Buffer, expected: NDArray[Any]) -> bool:
    """Does the buffer hold exactly these bytes? Host memory is looked at where it is."""
    if device.host is not None:
        return bool(_memcmp(buffer.pointer, expected.ctypes.data, buffer.bytes) == 0)
    found = np.empty_like(expected)
    buffer.download(found)
    return found.tobytes() == expected.tobytes()


def _downloaded(buffer: Buffer, like: HostTensor) -> HostTensor:
    storage = np.empty_like(like.storage)
    buffer.download(storage)
    return HostTensor(like.tensor, storage)


def _where_changed(buffer: Buffer, tensor: HostTensor) -> str:
    now = _downloaded(buffer, tensor)
    changed = np.flatnonzero(now.storage.view(np.uint8) != tensor.storage.view(np.uint8)) // tensor.tensor.dtype.bytes
    return f"{len(np.unique(changed))} of {tensor.tensor.space} elements, the first at index {changed[0]} of its memory"
