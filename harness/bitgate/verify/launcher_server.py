"""The child in which kernels run: it gets operands through an arena, and gives back what the launches left.

A user's code runs here, and may do anything. So this process knows no reference, and none of its answers is a verdict.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bitgate.core.project import Project, ours
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.errors import KernelFailed, KernelRefused, LibraryError, RecordRejected
from bitgate.kernel.resolved import Kernel, kernel_called
from bitgate.kernel.user_operation import add_here
from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import native
from bitgate.runtime.errors import HipError
from bitgate.runtime.targets import named
from bitgate.verify.launcher import Launch, LaunchStep, LoadedKernel, NoReference
from bitgate.verify.launcher_messages import (
    AskDevice,
    AskKernel,
    AskLds,
    CallGuest,
    DigestReference,
    KernelNames,
    LaunchAnswer,
    LaunchFilled,
    LaunchKernel,
    LoadKernel,
    OpenLauncher,
    PrewarmLauncher,
    Raised,
    SumOperands,
    config_of,
    tensors_at,
)
from bitgate.verify.local_launcher import LocalLauncher
from bitgate.verify.on_device import DeviceData, DeviceWork
from bitgate.verify.opened_target import OpenedTarget, prewarm
from bitgate.verify.planned import cached_problem
from bitgate.verify.watch import undisturbed
from bitgate.worker import serving
from bitgate.worker.arena import Arena
from bitgate.worker.channel import Channel
from bitgate.worker.handover import own
from bitgate.worker.outside import give_up_reaching
from bitgate.worker.sandbox import enter

ENTRY = f"{__name__}:serve"

SPIN_SECONDS = "BITGATE_SPIN_SECONDS"


def serve(channel: Channel) -> None:
    """Answer until the judge has no more questions."""
    enter()
    give_up_reaching()
    server = LauncherServer(channel)
    handlers: dict[type[serving.Message], Callable[[Any], Any]] = {
        PrewarmLauncher: server.prewarm,
        OpenLauncher: server.open,
        AskDevice: server.device,
        LoadKernel: server.load,
        AskLds: lambda asked: server.launcher.lds_bytes(server.kernel(asked.kernel), asked.kernel.race),
        AskKernel: server.ask,
        LaunchKernel: server.launch,
        LaunchFilled: server.launch_filled,
        DigestReference: server.digest,
        SumOperands: server.sums,
        CallGuest: server.call,
    }
    with undisturbed():
        serving.serve(channel, {kind: _answering(server, handler) for kind, handler in handlers.items()})


def _answering(server: LauncherServer, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a handler whose known exceptions are answers too, and which says whose threads run here."""

    def answer(message: Any) -> Any:
        try:
            said = {"answer": handler(message)}
        except (KernelRefused, KernelFailed, HipError, BuildError, LibraryError, NoReference, MemoryError) as error:
            said = {"raised": _raised(error)}
        return {**said, "tenant": server.tenant}

    return answer


def _raised(error: Exception) -> Raised:
    if isinstance(error, KernelRefused):
        return Raised("refused", (error.refusal.clause, error.refusal.text))
    if isinstance(error, HipError):
        return Raised("hip", (error.name, error.text, error.call))
    if isinstance(error, RecordRejected):
        return Raised("record", (str(error), error.defect.field, error.defect.text))
    if isinstance(error, BuildError):
        return Raised("build", (str(error), error.output))
    kinds = {KernelFailed: "failed", LibraryError: "library", NoReference: "reference", MemoryError: "memory"}
    return Raised(next(name for kind, name in kinds.items() if isinstance(error, kind)), (str(error),))


def _of_bitgate(opening: OpenLauncher) -> OpenLauncher:
    """Return the opening for what is done before a user's declaration or operation runs."""
    return replace(opening, project=ours().as_json())


class LauncherServer:
    """The open target of a launcher's process, and the handlers of its messages."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._launcher: LocalLauncher | None = None
        self._early: OpenedTarget | None = None
        self._arenas: tuple[Arena, ...] = ()
        self._session: Any = None
        self._guests: dict[str, Any] = {}

    @property
    def launcher(self) -> LocalLauncher:
        assert self._launcher is not None
        return self._launcher

    @property
    def tenant(self) -> str:
        return "" if self._launcher is None else self._launcher.opened.tenant

    def prewarm(self, question: PrewarmLauncher) -> None:
        self._early = self._opened(_of_bitgate(question.opening))
        prewarm(self._early, question.families)

    def open(self, opening: OpenLauncher) -> dict[str, Any]:
        """Open the target, with its runtime. A user's operations are loaded here, where their kernels are."""
        early = self._early or self._opened(_of_bitgate(opening))
        self._early = None
        _ = early.device  # built and opened now: a declaration may leave an environment in which nothing builds
        native.library()
        opened = self._opened(opening)
        opened.take_over(early)
        self._launcher = LocalLauncher(opened)
        self._arenas = tuple(Arena(own(one)) for one in opening.arenas)
        answer = self.device(AskDevice())
        gc.freeze()  # modules, declarations: there to the end
        return answer

    def _opened(self, opening: OpenLauncher) -> OpenedTarget:
        project = Project.from_json(opening.project)
        add_here(project.operation_files)
        overlay = {name: Path(path) for name, path in opening.overlay.items()}
        return OpenedTarget(named(opening.target), project, self._progress, overlay, opening.declared)

    def _progress(self, line: str) -> None:
        self._channel.note({"progress": line})

    def device(self, _: AskDevice) -> dict[str, Any]:
        return {"facts": self.launcher.device_facts(), "memory": self.launcher.memory()}

    def load(self, question: LoadKernel) -> LoadedKernel:
        names = question.kernel
        return self.launcher.load(self.kernel(names), names.race, Path(names.built) if names.built else None)

    def ask(self, question: AskKernel) -> Any:
        kernel, problem = self.kernel(question.kernel), cached_problem(question.case)
        return self.launcher.ask(
            kernel, problem, question.kernel.race, refused=question.refused, states=question.states
        )

    def launch(self, question: LaunchKernel) -> list[LaunchAnswer]:
        problem = cached_problem(question.case)
        memory = self._memory(question)
        sets: dict[int, Mapping[str, HostTensor]] = {}

        def inputs(places: dict[str, int]) -> Mapping[str, HostTensor]:
            return sets.setdefault(min(places.values(), default=-1), tensors_at(problem, places, memory))

        steps = [
            LaunchStep(
                config_of(one),
                inputs(one.inputs),
                one.reuses_buffers,
                one.delayed,
                one.captured,
                None if one.beside is None else inputs(one.beside),
                one.timed,
            )
            for one in question.steps
        ]
        launch = self._launch(question.kernel, problem, question.workspace)
        outputs = [tensors_at(problem, one.outputs, memory) for one in question.steps]
        return [LaunchAnswer.of(run) for run in self.launcher.launch(launch, steps, outputs.__getitem__)]

    def launch_filled(self, question: LaunchFilled) -> list[LaunchAnswer]:
        problem = cached_problem(question.case)
        memory = self._memory(question)
        launch = self._launch(question.kernel, problem, question.workspace)
        data = DeviceData(question.plan, _made(problem, question.made, memory))
        configs = [config_of(one) for one in question.steps]
        if question.trusted is not None:
            trusted = self._launch(question.trusted, problem, -1)
            return [LaunchAnswer.of(self.launcher.differences(launch, trusted, data, configs[0]))]
        work = DeviceWork(data, question.weights, question.as_kernels, question.brings_outputs)
        outputs = [tensors_at(problem, one.outputs, memory) for one in question.steps]
        return [LaunchAnswer.of(run) for run in self.launcher.launch_filled(launch, work, configs, outputs.__getitem__)]

    def digest(self, question: DigestReference) -> str:
        problem = cached_problem(question.case)
        data = DeviceData(question.plan, _made(problem, question.made, self._memory(question)))
        return self.launcher.reference_digest(self._launch(question.kernel, problem, -1), data)

    def sums(self, question: SumOperands) -> dict[str, tuple[int, int]]:
        return self.launcher.sums(cached_problem(question.case), question.plan)

    def call(self, question: CallGuest) -> Any:
        """Return what a guest answers: an object that is made with a session at the first call, and kept as long as the
        process lives."""
        from bitgate.verify.session import Session  # few need what a judge needs

        if self._session is None:
            opened = self.launcher.opened
            self._session = Session(
                opened.target,
                project=opened.project,
                overlay=opened.overlay,
                launcher=self.launcher,
                here=True,
                known=opened.families,
            )
            self._session.stage = lambda stage: self._channel.note({"stage": stage})
        if question.to not in self._guests:
            module, _, guest = question.to.partition(":")
            self._guests[question.to] = getattr(import_module(module), guest)(self._session)
        return getattr(self._guests[question.to], question.do)(**question.arguments)

    def kernel(self, names: KernelNames) -> Kernel:
        return kernel_called(self.launcher.opened.families, names.family, names.instance, names.options)

    def _launch(self, names: KernelNames, problem: Problem, workspace: int) -> Launch:
        return Launch(self.kernel(names), problem, workspace, names.race)

    def _memory(self, question: LaunchKernel | LaunchFilled | DigestReference) -> Any:
        host = self.launcher.opened.device.host
        spin = 0.0 if isinstance(question, DigestReference) else question.spin
        if host is not None and spin and not os.environ.get(SPIN_SECONDS):
            host.set_spin_limit(spin)
        return self._arenas[question.arena].sized(question.size)


def _made(problem: Problem, places: dict[str, int] | None, memory: Any) -> Mapping[str, HostTensor] | None:
    return None if places is None else tensors_at(problem, places, memory)
