"""Launchers: what a judge asks of the place where kernels run, and what comes back.

A launcher has the device, the libraries and whatever they do to their process. It gets operands and gives back outputs,
never a verdict: it knows no expected value, so nothing that a kernel does there can make a wrong result right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bitgate.kernel.declaration import Refusal
from bitgate.kernel.resolved import Kernel
from bitgate.kernel.runner import Capability
from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.fill import FillPlan

if TYPE_CHECKING:
    from bitgate.runtime.device import DeviceMemory
    from bitgate.verify.on_device import DeviceData, DeviceLaunchResult, DeviceWork
    from bitgate.verify.opened_target import OpenedTarget
    from bitgate.verify.running import LaunchConfig, LaunchResult


class LauncherDied(Exception):
    """The end of a launcher's process instead of an answer.

    ``hung``: it had to be ended; ``out_of_memory``: the system ended it for want of memory; ``fault``: the line in
    which an emulated device's runtime reported a fault of the kernel before that.
    """

    def __init__(self, reason: str, *, hung: bool = False, out_of_memory: bool = False, fault: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hung = hung
        self.out_of_memory = out_of_memory
        self.fault = fault


class NoReference(Exception):
    """A trusted kernel that did not compute: the message says what went wrong."""


@dataclass(frozen=True)
class DeviceFacts:
    """A device as it described itself before any kernel was loaded: its name, its runtime, which one it is."""

    gpu: str
    runtime: str
    identity: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel that a launcher has loaded. ``content`` is a Python kernel's key of what runs, else empty."""

    capabilities: frozenset[Capability]
    loading_changed: tuple[str, ...] = ()
    content: str = ""


@dataclass(frozen=True)
class Measured:
    """A measurement that took the place of a result: what is not as declared, figures, and how it crashed."""

    sentence: str = ""
    wrong: tuple[str, ...] = ()
    found: Mapping[str, Any] = field(default_factory=dict)
    crash: str = ""


@dataclass(frozen=True)
class KernelAnswer:
    """A kernel's answers about a problem. ``failed`` says that its predicate failed, ``workspace_failed`` that the
    question for workspace did; ``changes``, ``damage`` and ``crash`` are what the questions alone have done."""

    refusal: Refusal | None = None
    failed: str = ""
    workspace: int = 0
    workspace_refused: Refusal | None = None
    workspace_failed: str = ""
    changes: tuple[str, ...] = ()
    damage: str = ""
    crash: str = ""
    measured: Measured | None = None


@dataclass(frozen=True)
class Launch:
    """A kernel on a problem, with ``workspace`` bytes of workspace (-1: as many as it asks for), in the flavour that
    reports accesses if ``race``."""

    kernel: Kernel
    problem: Problem
    workspace: int
    race: bool = False


@dataclass(frozen=True)
class LaunchStep:
    """One launch on ``inputs``; ``reuses_buffers``: those of the step before, under its conditions.

    ``beside``: while the kernel works on these, in other buffers and on another stream, called from another thread.
    ``delayed``: after work that has not ended on the caller's stream. ``captured``: as a graph, which is replayed.
    ``timed``: between two events of a GPU (timed.py).
    """

    config: LaunchConfig
    inputs: Mapping[str, HostTensor]
    reuses_buffers: bool = False
    delayed: bool = False
    captured: bool = False
    beside: Mapping[str, HostTensor] | None = None
    timed: bool = False


class Launcher(Protocol):
    """The place where kernels run.

    Any call may raise LauncherDied. Those that launch raise HipError if memory runs out, and KernelRefused if the
    library refuses now; a kernel's failure is part of the result.
    """

    @property
    def number(self) -> int:
        """The number of processes so far: what was left in an earlier one is gone."""

    @property
    def prepared(self) -> float:
        """The seconds that were spent on opening and loading."""

    def device_facts(self) -> DeviceFacts: ...

    def memory(self) -> DeviceMemory:
        """Return the device's memory as it is now."""

    def load(self, kernel: Kernel, race: bool, built: Path | None) -> LoadedKernel:
        """Load a kernel, from where its library was ``built``. Raises LibraryError or BuildError."""

    def lds_bytes(self, kernel: Kernel, race: bool) -> int:
        """Return the bytes of LDS that a block of the kernel declares; 0 where it does not state that."""

    def ask(self, kernel: Kernel, problem: Problem, race: bool, *, refused: bool, states: bool) -> KernelAnswer:
        """Ask whether the kernel takes the problem, if it ``states`` that itself; then for its workspace.

        Nothing is asked of what the declaration has ``refused`` but the predicate.
        """

    def ask_ahead(self, kernel: Kernel, problem: Problem, race: bool, *, refused: bool, states: bool) -> None:
        """Begin with ``ask`` of the next case, where that can be, while this one is judged."""

    def launch_filled_ahead(self, launch: Launch, work: DeviceWork, configs: Sequence[LaunchConfig]) -> None:
        """Begin with ``launch_filled`` of the next case, where that can be, while this one is judged."""

    def launch(self, launch: Launch, steps: Sequence[LaunchStep]) -> list[LaunchResult]:
        """Launch once for each step, until one crashes or does damage."""

    def launch_filled(
        self, launch: Launch, work: DeviceWork, configs: Sequence[LaunchConfig]
    ) -> list[DeviceLaunchResult]:
        """Launch on data that are made on the device, once for each config, until one crashes or does damage."""

    def reference(self, launch: Launch, inputs: Mapping[str, HostTensor]) -> dict[str, HostTensor]:
        """Return the outputs of a trusted kernel, from where no other code has run. Raises NoReference."""

    def reference_digest(self, launch: Launch, data: DeviceData) -> str:
        """Return the digest of a trusted kernel's outputs, from where no other code has run. Raises NoReference."""

    def sums(self, problem: Problem, plan: FillPlan) -> dict[str, tuple[int, int]]:
        """Return the sums of the operands by role, which the device itself fills and sums. Raises HipError or
        BuildError."""

    def differences(
        self, launch: Launch, trusted: Launch, data: DeviceData, config: LaunchConfig
    ) -> DeviceLaunchResult:
        """Return how a result that was found wrong differs from a trusted kernel's, as far as the device can say."""

    @property
    def opened(self) -> OpenedTarget:
        """The open target, where it is in this process. Only tools that run beside kernels may ask."""

    def replace(self) -> bool:
        """Give the next request another process, and return True; False where kernels run in this one, or where a guest
        may have changed the process."""

    def end(self) -> None:
        """End its processes."""
