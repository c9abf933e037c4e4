"""The messages between a judge and its launcher's process. Bulk data are in an arena; offsets in it are in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bitgate.kernel.errors import RecordRejected
from bitgate.kernel.raw_record import RawRecord
from bitgate.kernel.record_check import RecordDefect, checked
from bitgate.kernel.resolved import Kernel
from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.checksum import WeightPlan
from bitgate.numerics.fill import FillPlan
from bitgate.runtime.host import DeviceFault
from bitgate.runtime.seen_work import SeenWork
from bitgate.runtime.tools import DeviceDifferences
from bitgate.verify.on_device import DeviceLaunchResult
from bitgate.verify.running import LaunchConfig, LaunchResult
from bitgate.worker.arena import Bytes
from bitgate.worker.serving import Message

Places = dict[str, int]
"""Offsets of tensors, by role."""


class OpenLauncher(Message):
    """The opening: the fields are those of ``OpenedTarget``; ``arenas`` are descriptors."""

    target: str
    project: dict[str, Any]
    overlay: dict[str, str]
    arenas: tuple[int, ...]
    declared: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)


class PrewarmLauncher(Message):
    """Ahead of the opening: what will be needed anyway."""

    opening: OpenLauncher
    families: tuple[str, ...]


class AskDevice(Message):
    """A question for the device's description of itself, and its free memory."""


class KernelNames(Struct, frozen=True):
    """The names of a kernel, its flavour, and the path of its library where that is built."""

    family: str
    instance: str
    options: tuple[tuple[str, str], ...]
    race: bool
    built: str

    @classmethod
    def of(cls, kernel: Kernel, race: bool, built: Path | None) -> KernelNames:
        return cls(*kernel.names, race, "" if built is None else str(built))


class LoadKernel(Message):
    kernel: KernelNames


class AskLds(Message):
    kernel: KernelNames


class AskKernel(Message):
    kernel: KernelNames
    case: str
    refused: bool
    states: bool


class StepPlaces(Struct):
    """A launch: its conditions, and where its operands and outputs are."""

    placement: str
    schedule: str
    inputs: Places
    outputs: Places
    reuses_buffers: bool = False
    delayed: bool = False
    captured: bool = False
    cleared: str = ""
    beside: Places | None = None
    timed: bool = False


class LaunchKernel(Message):
    """Launches on operands that are in the arena of that number, which has ``size`` bytes at least; ``spin``
    limits threads."""

    kernel: KernelNames
    case: str
    workspace: int
    steps: list[StepPlaces]
    size: int
    arena: int
    spin: float


class LaunchFilled(Message):
    """Launches on data that are made on the device, or ``made`` already; where a ``trusted`` kernel is named, a
    comparison with its result."""

    kernel: KernelNames
    case: str
    workspace: int
    plan: FillPlan
    made: Places | None
    steps: list[StepPlaces]
    size: int
    arena: int
    spin: float
    weights: WeightPlan | None = None
    as_kernels: bool = False
    brings_outputs: bool = False
    trusted: KernelNames | None = None


class DigestReference(Message):
    """A question for the digest of a trusted kernel's outputs."""

    kernel: KernelNames
    case: str
    plan: FillPlan
    made: Places | None
    size: int
    arena: int


class SumOperands(Message):
    """A question for the sums of operands that the device fills by a plan."""

    case: str
    plan: FillPlan


class CallGuest(Message):
    """A question for the method ``do`` of a guest ``module:class``, with these arguments."""

    to: str
    do: str
    arguments: dict[str, Any]


class LaunchAnswer(Struct):
    """A launch without its outputs, which are in the arena: the fields are those of ``DeviceLaunchResult``.

    ``has_outputs`` is false if the launch was harmed before they were copied: the arena then holds its own poison.
    """

    record: RawRecord | None
    crash: str
    damage: str
    changes: list[str]
    fault: DeviceFault | None
    seen: list[SeenWork] | None
    seconds: dict[str, float]
    began: float
    has_outputs: bool
    digest: str = ""
    weighed: tuple[int, int] | None = None
    wrong: str = ""
    differences: DeviceDifferences | None = None
    cells: list[dict[str, Any]] = []

    @classmethod
    def of(cls, run: LaunchResult) -> LaunchAnswer:
        common = (
            None if run.record is None else replace(run.record.raw, kernargs=b""),
            run.crash,
            run.damage,
            run.changes,
            run.fault,
            None if run.seen is None else list(run.seen),
            run.seconds,
            run.began,
            bool(run.outputs),
        )
        if not isinstance(run, DeviceLaunchResult):
            return cls(*common)
        return cls(*common, run.digest, run.weighed, run.wrong, run.differences, list(run.cells))

    def fill(self, run: LaunchResult, instance: str) -> None:
        """Write the answer into a result. RecordRejected if the dispatch record of the instance is none."""
        if self.record is not None:
            found = checked(self.record, instance)
            if isinstance(found, RecordDefect):
                raise RecordRejected(instance, found)
            run.record = found
        run.crash, run.damage, run.changes, run.fault = self.crash, self.damage, self.changes, self.fault
        run.seen, run.seconds, run.began = self.seen, self.seconds, self.began
        if isinstance(run, DeviceLaunchResult):
            run.digest, run.weighed, run.wrong = self.digest, self.weighed, self.wrong
            run.differences, run.cells = self.differences, tuple(self.cells)


@dataclass(frozen=True)
class Raised:
    """An exception of a launcher, as an answer."""

    kind: str
    texts: tuple[str, ...]


def config_of(step: StepPlaces) -> LaunchConfig:
    return LaunchConfig(step.placement, step.schedule, step.cleared)


def tensors_at(problem: Problem, places: Mapping[str, int], memory: Bytes) -> dict[str, HostTensor]:
    """Return tensors of the problem over an arena's memory."""
    found = {}
    for role, at in places.items():
        tensor = problem.tensors[role]
        found[role] = HostTensor(tensor, memory[at : at + tensor.bytes].view(tensor.dtype.numpy))
    return found
