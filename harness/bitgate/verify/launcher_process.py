"""A launcher in a separate process, as its judge sees it: what it reports of a kernel decides nothing by itself.

Each request has the time that the case has left. A process that died, hung or was changed is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from msgspec import ValidationError, convert

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel.errors import KernelFailed, KernelRefused
from bitgate.kernel.resolved import Kernel
from bitgate.model import Problem, case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.fill import FillPlan
from bitgate.runtime.device import DeviceMemory
from bitgate.verify.ahead import Ahead, DiedOfAnother, key_of
from bitgate.verify.launcher import (
    DeviceFacts,
    KernelAnswer,
    Launch,
    LauncherDied,
    LaunchStep,
    LoadedKernel,
    NoReference,
)
from bitgate.verify.launcher_errors import said_by
from bitgate.verify.launcher_memory import LauncherMemory, contents_of, placed
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
    Places,
    PrewarmLauncher,
    StepPlaces,
    SumOperands,
)
from bitgate.verify.launcher_worker import GRACE_SECONDS, OPEN_SECONDS, launcher_worker
from bitgate.verify.on_device import DeviceData, DeviceLaunchResult, DeviceWork
from bitgate.verify.opened_target import OpenedTarget, Part, part_of
from bitgate.verify.printed_faults import PrintedFaults
from bitgate.verify.running import LaunchConfig, LaunchResult
from bitgate.worker.arena import Layout
from bitgate.worker.endable import Endable
from bitgate.worker.shared_memory import create_memory
from bitgate.worker.worker import Request, Worker, WorkerDied

LONGEST_SPIN, SHARE_OF_SPIN = 20.0, 0.1
"""Seconds of processor time, and the share of a case's deadline, that a thread may run without a barrier. The deadline
goes by the clock: on a busy machine a thread gets a part of it only."""

ATTACHES, ATTACH_SECONDS = 20, 0.5
"""How often a process that an emulator's daemon does not serve yet is started again, and the seconds in between."""

Hear = Callable[..., None]
"""Receives a note, and in how many seconds the answer is late from then on, if that changes."""
Answer = TypeVar("Answer")


class LauncherProcess(Endable):
    """The interface of a ``Launcher`` to a process that starts when it is first needed.

    ``hear`` receives its notes, such as lines of progress. A trusted kernel's reference is computed in a second
    process, which never loads anything but bitgate's own kernels.
    """

    def __init__(
        self,
        target: str,
        project: dict[str, Any],
        overlay: dict[str, str],
        hear: Hear,
        started: tuple[Worker, tuple[int, int]] | None = None,
    ) -> None:
        if started is None:
            arenas = create_memory(), create_memory()
            started = launcher_worker(arenas, hear), arenas
        self._worker, self._descriptors = started
        self._printed = PrintedFaults(self._worker)
        self._memory = LauncherMemory(self._descriptors)
        self.opening = self._worker.opening = OpenLauncher(target, project, overlay, self._descriptors)
        self._hear = hear
        self._early: Request | None = None
        self._facts: DeviceFacts | None = None
        self._loaded: set[Part] = set()
        """What the process that runs now has loaded."""
        self._had_guests = False
        """Whether a guest may have set something that another process would lack, such as a mutant's switch."""
        self._tenant = ""
        """The family whose threads run in it: a kernel of another one needs another process."""
        self._built: dict[Part, Path | None] = {}
        self._ahead: dict[Hashable, Ahead] = {}
        """Requests of the next case, by what they ask."""
        self._trusted: LauncherProcess | None = None
        self._has_failed = False
        """Whether an interpreter has failed at this case, so that another one was started for it."""
        self.prepared = 0.0
        self._seconds, self._until = OPEN_SECONDS, 0.0

    # ---- its process

    def begin_case(self, seconds: float) -> None:
        """Start the clock of a case: its requests may take ``seconds`` in all."""
        self._memory.begin_case()
        self._has_failed = False
        self._ahead = {key: begun for key, begun in self._ahead.items() if begun.turn == self._memory.turn}
        self._seconds, self._until = seconds, monotonic() + seconds

    @property
    def number(self) -> int:
        return self._worker.number + (not self._worker.is_usable)

    @property
    def is_running(self) -> bool:
        return self._worker.is_usable

    @property
    def started_for(self) -> tuple[str, dict[str, str]]:
        """Target and overlay, which hold from the start."""
        return self.opening.target, self.opening.overlay

    def begin(self) -> None:
        """Let the process open, without waiting for it."""
        self._worker.begin()

    def wait(self) -> None:
        """Wait for the process to be open. UsageError if it cannot be opened."""
        self._open()

    @property
    def opened(self) -> OpenedTarget:
        raise UsageError("kernels run in another process: nothing of theirs is open in this one")

    def prewarm(self, families: Sequence[str]) -> None:
        """Let the process start, open its device and load what is built of these families, without waiting for it."""
        self._early = self._worker.put(
            PrewarmLauncher(self.opening, tuple(families)), OPEN_SECONDS, self._hear, early=True
        )

    def open_as(self, project: dict[str, Any], declared: dict[str, dict[str, Any]]) -> None:
        """Set what the process is to be opened with, which may be more than what it was prewarmed for."""
        self._worker.opening = self.opening = OpenLauncher(
            self.opening.target, project, self.opening.overlay, self._descriptors, declared
        )

    def device_facts(self) -> DeviceFacts:
        if self._facts is None:
            self._open()
            self._facts = convert(said_by(self._worker.opened())["facts"], DeviceFacts)
        return self._facts

    def memory(self) -> DeviceMemory:
        return convert(self._ask(AskDevice(), dict[str, Any])["memory"], DeviceMemory)

    def replace(self) -> bool:
        if self._had_guests:
            return False
        self._worker.end()
        self._forget()
        self._ahead.clear()
        return True

    def _forget(self) -> None:
        """Forget what the process had loaded, which is no more."""
        self._loaded.clear()
        self._tenant = ""

    def end(self) -> None:
        self._worker.end()
        if self._trusted is not None:
            self._trusted.end()

    # ---- kernels

    def load(self, kernel: Kernel, race: bool, built: Path | None) -> LoadedKernel:
        self._make_room(kernel)
        part = part_of(kernel, race)
        self._built[part] = built
        loaded = self._loading(KernelNames.of(kernel, race, built))
        self._loaded.add(part)
        return loaded

    def lds_bytes(self, kernel: Kernel, race: bool) -> int:
        return self._ask(AskLds(self._names(kernel, race)), int)

    def ask(self, kernel: Kernel, problem: Problem, race: bool, *, refused: bool, states: bool) -> KernelAnswer:
        message = AskKernel(self._names(kernel, race), case_id(problem), refused, states)
        if (begun := self._begun(message)) is not None:
            with suppress(DiedOfAnother):
                return self._answered(begun.asked, KernelAnswer)
        return self._ask(message, KernelAnswer)

    def ask_ahead(self, kernel: Kernel, problem: Problem, race: bool, *, refused: bool, states: bool) -> None:
        """Begin with ``ask`` of the next case, whose answer is fetched later."""
        if self._may_begin(kernel, race):
            names = KernelNames.of(kernel, race, self._built[part_of(kernel, race)])
            self._put_ahead(AskKernel(names, case_id(problem), refused, states), [])

    def launch(self, launch: Launch, steps: Sequence[LaunchStep]) -> list[LaunchResult]:
        layout, problem = Layout(), launch.problem
        sets: dict[int, tuple[Places, Mapping[str, HostTensor]]] = {}
        for step in steps:
            for inputs in (step.inputs, step.beside or {}):
                if id(inputs) not in sets:
                    sets[id(inputs)] = placed(layout, problem, inputs), inputs
        places = [
            StepPlaces(
                step.config.placement,
                step.config.schedule,
                sets[id(step.inputs)][0],
                placed(layout, problem, problem.outputs),
                step.reuses_buffers,
                step.delayed,
                step.captured,
                step.config.cleared,
                None if step.beside is None else sets[id(step.beside)][0],
                step.timed,
            )
            for step in steps
        ]
        names = self._names(launch.kernel, launch.race)
        turn = self._memory.turn
        outputs = self._memory.arranged(turn, layout, problem, places, sets.values())
        message = LaunchKernel(names, case_id(problem), launch.workspace, places, layout.size, turn, self._spin)
        answers = self._ask(message, list[LaunchAnswer])
        return self._results(answers, [LaunchResult(step.config) for step in steps], outputs, names.instance)

    def launch_filled(
        self, launch: Launch, work: DeviceWork, configs: Sequence[LaunchConfig]
    ) -> list[DeviceLaunchResult]:
        names = self._names(launch.kernel, launch.race)
        message, layout, places = self._filled(names, launch, work, configs)
        answers: list[LaunchAnswer] | None = None
        if (begun := self._begun(message)) is not None:
            with suppress(DiedOfAnother):
                answers, outputs = self._answered(begun.asked, list[LaunchAnswer]), begun.outputs
        if answers is None:
            made = contents_of(message.made, work.data)
            outputs = self._memory.arranged(self._memory.turn, layout, launch.problem, places, made)
            answers = self._ask(message, list[LaunchAnswer])
        runs = [DeviceLaunchResult(config) for config in configs]
        return self._results(answers, runs, outputs, launch.kernel.instance.name)

    def launch_filled_ahead(self, launch: Launch, work: DeviceWork, configs: Sequence[LaunchConfig]) -> None:
        """Begin with ``launch_filled`` of the next case, whose results are fetched later."""
        if not self._may_begin(launch.kernel, launch.race):
            return
        names = KernelNames.of(launch.kernel, launch.race, self._built[part_of(launch.kernel, launch.race)])
        message, layout, places = self._filled(names, launch, work, configs)
        message.arena = self._memory.next_turn
        made = contents_of(message.made, work.data)
        self._put_ahead(message, self._memory.arranged(message.arena, layout, launch.problem, places, made))

    def _filled(
        self, names: KernelNames, launch: Launch, work: DeviceWork, configs: Sequence[LaunchConfig]
    ) -> tuple[LaunchFilled, Layout, list[StepPlaces]]:
        layout, problem = Layout(), launch.problem
        roles = problem.outputs if work.brings_outputs else ()
        made = None if work.data.made is None else placed(layout, problem, work.data.made)
        places = [StepPlaces(one.placement, one.schedule, {}, placed(layout, problem, roles)) for one in configs]
        message = LaunchFilled(
            names,
            case_id(problem),
            launch.workspace,
            work.data.plan,
            made,
            places,
            layout.size,
            self._memory.turn,
            self._spin,
            work.weights,
            work.as_kernels,
            work.brings_outputs,
        )
        return message, layout, places

    def differences(
        self, launch: Launch, trusted: Launch, data: DeviceData, config: LaunchConfig
    ) -> DeviceLaunchResult:
        message, layout, _ = self._filled(self._names(launch.kernel, launch.race), launch, DeviceWork(data), [config])
        message.trusted = KernelNames.of(trusted.kernel, trusted.race, None)
        self._memory.arranged(self._memory.turn, layout, launch.problem, [], contents_of(message.made, data))
        answers = self._ask(message, list[LaunchAnswer])
        run = DeviceLaunchResult(config)
        self._results(answers, [run], [{}], launch.kernel.instance.name)
        return run

    def reference(self, launch: Launch, inputs: Mapping[str, HostTensor]) -> dict[str, HostTensor]:
        other = self._trusted_process(launch)
        config = LaunchConfig("right", "forward" if self.opening.target == "host" else "")
        with _as_reference(launch.kernel):
            (run,) = other.launch(launch, [LaunchStep(config, inputs)])
        if what := run.crash or run.damage:
            raise NoReference(f"the reference kernel {launch.kernel.name} failed: {what}")
        return {role: HostTensor(one.tensor, one.storage.copy()) for role, one in run.outputs.items()}

    def reference_digest(self, launch: Launch, data: DeviceData) -> str:
        other = self._trusted_process(launch)
        layout, problem = Layout(), launch.problem
        made = None if data.made is None else placed(layout, problem, data.made)
        turn = other._memory.turn
        other._memory.arranged(turn, layout, problem, [], contents_of(made, data))
        with _as_reference(launch.kernel):
            names = other._names(launch.kernel, launch.race)
            message = DigestReference(names, case_id(problem), data.plan, made, layout.size, turn)
            return other._ask(message, str)

    def sums(self, problem: Problem, plan: FillPlan) -> dict[str, tuple[int, int]]:
        self._open()
        return self._ask(SumOperands(case_id(problem), plan), dict[str, tuple[int, int]])

    def call(self, question: CallGuest) -> Any:
        """Return what a guest of the process answers; its caller sees to the time."""
        self._open()
        self._had_guests = True
        return self._twice(lambda: self._worker.put(question, OPEN_SECONDS, self._hear), Any, self._open)

    # ---- requests

    @property
    def _spin(self) -> float:
        return min(LONGEST_SPIN * emulation.slowness(), SHARE_OF_SPIN * self._seconds)

    def _names(self, kernel: Kernel, race: bool) -> KernelNames:
        """Return the kernel's names, once it is loaded in the process that runs now: the case is not charged."""
        self._make_room(kernel)
        part = part_of(kernel, race)
        names = KernelNames.of(kernel, race, self._built.get(part))
        if not self._worker.is_usable:
            self._open()
        if part not in self._loaded:
            self._loading(names)
            self._loaded.add(part)
        return names

    def _make_room(self, kernel: Kernel) -> None:
        """Replace a process in which threads of another family run."""
        if self._tenant not in ("", kernel.family.name):
            self.replace()

    def _may_begin(self, kernel: Kernel, race: bool) -> bool:
        """Return whether a request about the kernel can be made at once: it is loaded, and the process is its own."""
        is_loaded = part_of(kernel, race) in self._loaded and self._worker.is_usable
        return is_loaded and self._tenant in ("", kernel.family.name)

    def _loading(self, names: KernelNames) -> LoadedKernel:
        self._open()
        started = monotonic()
        loaded = self._twice(
            lambda: self._worker.put(LoadKernel(names), OPEN_SECONDS, self._hear), LoadedKernel, self._open
        )
        self._prepares(started)
        return loaded

    def _prepares(self, started: float) -> None:
        """Charge no case for the time since ``started``."""
        self.prepared += monotonic() - started
        self._until += monotonic() - started

    def _trusted_process(self, launch: Launch) -> LauncherProcess:
        if self._trusted is None:
            arenas = create_memory(), create_memory()
            started = launcher_worker(arenas, self._hear, is_trusted=True), arenas
            self._trusted = LauncherProcess(self.opening.target, ours().as_json(), {}, self._hear, started)
        self._trusted.begin_case(max(0.0, self._until - monotonic()))
        return self._trusted

    def _open(self) -> None:
        """Wait for the process to be open. UsageError if it cannot be opened."""
        if not self._worker.is_usable:
            self._forget()
        started = monotonic()
        attaches = ATTACHES if emulation.daemon() else 0  # one that has ended is being started again
        for left in range(max(1, attaches), -1, -1):
            try:
                self._worker.opened()
                break
            except WorkerDied as ended:
                self._forget()
                if left and attaches:
                    sleep(ATTACH_SECONDS)
                    continue
                if not left or ended.at is not self._early:  # what was done early ended it: it recurs where it matters
                    reason = f"the process for kernels of {self.opening.target} does not start: {ended.reason}"
                    raise UsageError(f"{reason}: see bitgate doctor") from None
            except OSError as error:
                words = error.strerror or error
                raise UsageError(f"no further process for kernels can be started: {words}") from None
        self._prepares(started)

    def _put_ahead(self, message: Any, outputs: list[dict[str, HostTensor]]) -> None:
        asked = self._worker.put(message, self._seconds)
        self._ahead[key_of(message)] = Ahead(asked, outputs, self._worker.number, self._memory.next_turn)

    def _begun(self, message: Any) -> Ahead | None:
        """Return the request that began ahead; None if there is none, or its process ended before it began."""
        begun = self._ahead.pop(key_of(message), None)
        if begun is None:
            return None
        if isinstance(lost := begun.asked.reply, WorkerDied):
            return begun if lost.at is begun.asked else None
        return begun if begun.process == self._worker.number else None

    def _ask(self, message: Any, into: type[Answer]) -> Answer:
        def put() -> Request:
            left = max(0.0, self._until - monotonic()) if self._until else self._seconds
            return self._worker.put(message, left)

        return self._twice(put, into, lambda: self._begin_again(message))

    def _twice(self, put: Callable[[], Request], into: type[Answer], between: Callable[[], object]) -> Answer:
        """Return the answer to a request, which is put again if the process ended for a reason of another one."""
        try:
            return self._answered(put(), into)
        except DiedOfAnother:
            between()
        try:
            return self._answered(put(), into)
        except DiedOfAnother as ended:
            raise LauncherDied(str(ended)) from None

    def _begin_again(self, message: Any) -> None:
        """Give a case another process and all of its time: a request of the next case has ended the process."""
        self._until = monotonic() + self._seconds
        self._hear({"stage": ""}, self._seconds + GRACE_SECONDS)
        if hasattr(message, "kernel"):
            self._loading(message.kernel)

    def _answered(self, asked: Request, into: type[Answer]) -> Answer:
        """Return the answer, or raise what the launcher raised. LauncherDied if there is none, or it is malformed."""
        try:
            said = self._worker.answer(asked)
            self._tenant = convert(said["tenant"], str)
            return convert(said_by(said), into)
        except WorkerDied as ended:
            self._forget()
            is_of_another = ended.at is not asked and ended.at in self._requests_ahead
            if is_of_another or (ended.at is asked and ended.status is not None and not ended.had_begun):
                raise DiedOfAnother(ended.reason) from None
            reason = f"no verdict within {self._seconds:g} s" if ended.late else ended.reason
            fault = self._printed.taken()
            raise LauncherDied(reason, hung=ended.hung, out_of_memory=ended.out_of_memory, fault=fault) from None
        except RuntimeError as error:  # its interpreter failed, which an earlier kernel may have changed
            if self._has_failed or not self.replace():
                raise
            self._has_failed = True
            raise DiedOfAnother(str(error)) from None
        except (ValidationError, KeyError, TypeError) as error:
            self.replace()
            raise LauncherDied(f"its process answered with no result: {error}") from None

    @property
    def _requests_ahead(self) -> list[Request]:
        return [begun.asked for begun in self._ahead.values()]

    def _results(
        self, answers: Sequence[LaunchAnswer], runs: list[Any], outputs: Sequence[Any], instance: str
    ) -> list[Any]:
        """Return the results of launches; all were made, unless the last one is the reason why not."""
        is_cut = bool(answers) and bool(answers[-1].crash or answers[-1].damage)
        if not answers or (len(answers) < len(runs) and not is_cut) or len(answers) > len(runs):
            self.replace()
            raise LauncherDied(f"its process answered with {len(answers)} results of {len(runs)}")
        for answer, run, found in zip(answers, runs, outputs, strict=False):
            if found and not (answer.has_outputs or answer.crash or answer.damage):
                self.replace()
                raise LauncherDied("its process answered without outputs, and with nothing that went wrong")
            answer.fill(run, instance)
            run.outputs = found if answer.has_outputs else {}
        return runs[: len(answers)]


@contextmanager
def _as_reference(kernel: Kernel) -> Iterator[None]:
    """Turn whatever is wrong with a trusted kernel into NoReference."""
    try:
        yield
    except (LauncherDied, KernelFailed, KernelRefused) as error:
        raise NoReference(f"the reference kernel {kernel.name} failed: {error}") from None
