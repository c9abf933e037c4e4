"""The launcher of this process: it is the child's side of a launcher's process, and serves debuggers as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from bitgate.kernel.errors import KernelFailed, KernelRefused
from bitgate.kernel.launch_list import LaunchMistake
from bitgate.kernel.resolved import Kernel
from bitgate.kernel.runner import LibraryRunner, Runner
from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.fill import FillPlan
from bitgate.runtime.device import DeviceMemory
from bitgate.runtime.errors import HipError
from bitgate.verify.captured import CapturedLaunch
from bitgate.verify.delayed import run_delayed
from bitgate.verify.fingerprint import gpu_of, runtime_of
from bitgate.verify.launcher import (
    DeviceFacts,
    KernelAnswer,
    Launch,
    LaunchStep,
    LoadedKernel,
    Measured,
    NoReference,
)
from bitgate.verify.on_device import (
    DeviceData,
    DeviceLaunchResult,
    DeviceWork,
    compare_on_device,
    digest_on_device,
    run_on_device,
    sums_on_device,
)
from bitgate.verify.opened_target import OpenedTarget
from bitgate.verify.running import (
    KernelWork,
    LaunchConfig,
    LaunchResult,
    after_launch,
    before_launch,
    blank_outputs,
    run_in_turn,
    run_once,
)
from bitgate.verify.side_by_side import run_side_by_side
from bitgate.verify.timed import DeviceClock, run_timed
from bitgate.verify.watch import Watch, undisturbed

MOST_FINDINGS = 16
"""The number of findings of a measurement that are kept; its sentence states each kind once."""

Outputs = Callable[[int], Mapping[str, HostTensor]]
"""Memory for the outputs of a launch, by its place among the launches of a request."""


class LocalLauncher:
    """The interface of a launcher without its process."""

    number = 1

    def __init__(self, opened: OpenedTarget) -> None:
        self.opened = opened

    @property
    def prepared(self) -> float:
        return self.opened.prepared

    def device_facts(self) -> DeviceFacts:
        device = self.opened.device
        return DeviceFacts(gpu_of(device), runtime_of(device), device.identity)

    def memory(self) -> DeviceMemory:
        return self.opened.device.memory()

    def load(self, kernel: Kernel, race: bool, built: Path | None) -> LoadedKernel:
        _ = self.opened.device
        runner = self.opened.runner(kernel, race=race, built=built)
        content = "" if isinstance(runner, LibraryRunner) else runner.content_key
        return LoadedKernel(runner.capabilities, tuple(runner.conduct.loading_changed), content)

    def lds_bytes(self, kernel: Kernel, race: bool) -> int:
        runner = self.opened.runner(kernel, race=race)
        return runner.library.lds_bytes(runner.instance) if isinstance(runner, LibraryRunner) else 0

    def ask(self, kernel: Kernel, problem: Problem, race: bool, *, refused: bool, states: bool) -> KernelAnswer:
        device, runner = self.opened.device, self.opened.runner(kernel, race=race)
        said: dict[str, Any] = {}
        if not refused and (mistake := _launch_mistake(runner, problem)):
            return KernelAnswer(workspace_failed=mistake)
        with undisturbed():
            watch, mark = Watch(device, runner), before_launch(device)
            try:
                said["refusal"] = runner.supports(problem) if states else None
                if not refused and said["refusal"] is None:
                    diagnostics = problem.operation.diagnostics
                    measurement = diagnostics.measurement(problem, runner.instance.name, device, runner)
                    if measurement is not None:
                        return KernelAnswer(measured=self._measure(measurement))
            except KernelFailed as error:
                said["failed"] = str(error)
            if not refused and not said.get("failed") and said["refusal"] is None:
                try:
                    said["workspace"] = runner.workspace(problem)
                except KernelRefused as error:
                    said["workspace_refused"] = error.refusal
                except KernelFailed as error:
                    said["workspace_failed"] = str(error)
            changes = watch.changes()
            left = after_launch(device, mark, {})
        return KernelAnswer(**said, changes=tuple(changes), damage=left.damage, crash=left.crash)

    def replace(self) -> bool:
        return False

    def ask_ahead(self, kernel: Kernel, problem: Problem, race: bool, *, refused: bool, states: bool) -> None:
        """Do nothing: one process does one thing at a time."""

    def launch_filled_ahead(self, launch: Launch, work: DeviceWork, configs: Sequence[LaunchConfig]) -> None:
        """Do nothing: one process does one thing at a time."""

    def _measure(self, measurement: Any) -> Measured:
        try:
            sentence, wrong = measurement.take()
        except (HipError, KernelFailed) as error:
            fault = self.opened.device.fault()
            return Measured(crash=str(error) if fault is None else fault.text, found=dict(measurement.found))
        return Measured(sentence, tuple(wrong[:MOST_FINDINGS]), dict(measurement.found))

    def launch(self, launch: Launch, steps: Sequence[LaunchStep], outputs: Outputs | None = None) -> list[LaunchResult]:
        work = self._work(launch)
        runs: list[LaunchResult] = []
        groups: list[list[tuple[LaunchStep, Mapping[str, HostTensor]]]] = []
        for place, step in enumerate(steps):
            if not step.reuses_buffers:
                groups.append([])
            groups[-1].append((step, blank_outputs(launch.problem) if outputs is None else outputs(place)))
        with undisturbed():
            for group in groups:
                runs += self._together(work, *zip(*group, strict=True))
                if runs[-1].crash or runs[-1].damage:
                    break
        return runs

    def _together(
        self, work: KernelWork, steps: Sequence[LaunchStep], outputs: Sequence[Mapping[str, HostTensor]]
    ) -> list[LaunchResult]:
        """Run one step, or several that share their buffers."""
        if steps[0].captured:
            with CapturedLaunch(work.runner, work.problem, work.workspace, self.opened.device) as captured:
                return self._together(captured, [replace(step, captured=False) for step in steps], outputs)
        if len(steps) == 1:
            return [self._step(work, steps[0], outputs[0])]
        turns = [(step.inputs, into) for step, into in zip(steps, outputs, strict=True)]
        return run_in_turn(self.opened.device, work, turns, steps[0].config)

    def _step(self, work: KernelWork, step: LaunchStep, outputs: Mapping[str, HostTensor]) -> LaunchResult:
        device, inputs, config = self.opened.device, step.inputs, step.config
        if step.beside is not None:
            return run_side_by_side(device, work, step.beside, inputs, outputs, config)
        if step.timed:
            return run_timed(device, work, inputs, outputs, config, self._clock)
        if step.delayed:
            return run_delayed(device, work, inputs, outputs, config, self.opened.hold)
        return run_once(device, work, inputs, outputs, config)

    def launch_filled(
        self, launch: Launch, work: DeviceWork, configs: Sequence[LaunchConfig], outputs: Outputs | None = None
    ) -> list[DeviceLaunchResult]:
        opened, runs = self.opened, list[DeviceLaunchResult]()
        tools = opened.device_tools if work.as_kernels else opened.tools
        with undisturbed():
            for place, config in enumerate(configs):
                into: Mapping[str, HostTensor] = {}
                if work.brings_outputs:
                    into = blank_outputs(launch.problem) if outputs is None else outputs(place)
                run = run_on_device(opened.device, tools, self._work(launch), work, config, into)
                runs.append(run)
                if run.crash or run.damage:
                    break
        return runs

    def reference(self, launch: Launch, inputs: Mapping[str, HostTensor]) -> dict[str, HostTensor]:
        device = self.opened.device
        config = LaunchConfig("right", "forward" if device.host is not None else "")
        outputs = blank_outputs(launch.problem)
        run = run_once(device, self._work(launch), inputs, outputs, config)
        if what := run.crash or run.damage:
            raise NoReference(f"the reference kernel {launch.kernel.name} failed: {what}")
        return outputs

    def reference_digest(self, launch: Launch, data: DeviceData) -> str:
        return digest_on_device(self.opened.device, self.opened.device_tools, self._work(launch), data)

    def sums(self, problem: Problem, plan: FillPlan) -> dict[str, tuple[int, int]]:
        return sums_on_device(self.opened.device, self.opened.device_tools, problem, plan)

    def differences(
        self, launch: Launch, trusted: Launch, data: DeviceData, config: LaunchConfig
    ) -> DeviceLaunchResult:
        opened = self.opened
        return compare_on_device(
            opened.device, opened.device_tools, self._work(launch), self._work(trusted), data, config
        )

    @cached_property
    def _clock(self) -> DeviceClock:
        return DeviceClock(self.opened.device, self.opened.hold)

    def _work(self, launch: Launch) -> KernelWork:
        runner = self.opened.runner(launch.kernel, race=launch.race)
        _launch_mistake(runner, launch.problem)  # asks another process, which may start now, before anything is watched
        workspace = runner.workspace(launch.problem) if launch.workspace < 0 else launch.workspace
        return KernelWork(runner, launch.problem, workspace)

    def end(self) -> None:
        """Do nothing: there is no process to end."""


def _launch_mistake(runner: Runner, problem: Problem) -> str:
    """Ask for the launches of a problem, before anything of the library is watched; return what is wrong with them."""
    if isinstance(runner, LibraryRunner):
        try:
            runner.library.stated(problem, runner.instance, runner.options)
        except LaunchMistake as error:
            return str(error)
    return ""
