"""The judge's process: it answers planned cases with verdicts, and has a launcher run kernels (launcher_process.py).

No user's code runs here: what kernels, declarations and operations say comes from other processes, as data. The
messages between it and its parent are defined here.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from msgspec import Struct, ValidationError, json

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.registry import declared_sources
from bitgate.kernel.resolved import kernel_called
from bitgate.kernel.user_operation import add_owned
from bitgate.model import ProblemError
from bitgate.numerics import native
from bitgate.results.record import Outcome, Verdict, to_event
from bitgate.runtime.errors import HipError
from bitgate.verify.canary import distress
from bitgate.verify.diagnose.engine import diagnosis_seconds
from bitgate.verify.evidence import Evidence, verdict_of
from bitgate.verify.launcher import Launcher, LauncherDied
from bitgate.verify.launcher_messages import CallGuest
from bitgate.verify.launcher_process import LauncherProcess
from bitgate.verify.launcher_worker import GRACE_SECONDS
from bitgate.verify.memory import memory_seconds
from bitgate.verify.module_check import needs_gpu
from bitgate.verify.pipeline import Dump, begin_ahead
from bitgate.verify.planned import PlannedCase, PlannedMessage
from bitgate.verify.repetition import ONCE, Repetition
from bitgate.verify.session import Session
from bitgate.verify.trace import Tracer
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.serving import Message
from bitgate.worker.worker import Worker

ENTRY = "bitgate.verify.judge_entry:serve"

STAGE = "stage"
"""Note with what a case is at."""
FORESEEN = "foreseen"
"""Note with the verdict on a wrong result, should its diagnosis not come to an end."""

CANARY_SECONDS = 300.0

MEMORY_PAUSE = 2.0
"""Seconds between two attempts of a case for which the device has no memory left."""

Hear = Callable[[dict[str, Any]], None]
"""Hears what the first launch of a case ran (``Tracer``)."""


class OpenTarget(Message):
    """The opening of a process of kernels; the fields are those of ``Session``."""

    target: str
    project: dict[str, Any]
    overlay: dict[str, str]
    suites: tuple[str, ...] | None
    repeats_all: bool
    repetition: Repetition = ONCE


class Prewarm(Message):
    """Ahead of the opening, which may be for other suites and more kernels: what will be needed anyway."""

    opening: OpenTarget
    families: tuple[str, ...]


class LoadLibrary(Message):
    """A question that has a kernel's library built and loaded, so that no case is charged for it."""

    family: str
    instance: str
    race: bool


class VerifyCase(Message):
    """A question for a verdict; ``by`` names the judge, and with ``stages`` the child says what the case is at."""

    planned: PlannedMessage
    by: str
    seconds: float
    dump: str = ""
    trace: bool = False
    stages: bool = False


class CaseAnswer(Struct):
    """A verdict as an event; ``launcher`` counts the processes that kernels ran in: the next case gets that one."""

    verdict: dict[str, Any]
    launcher: int


class GuestAnswer(Struct):
    """A guest's answer, or how its process ended instead; ``launcher`` as of ``CaseAnswer``."""

    launcher: int
    answer: Any = None
    died: str = ""
    hung: bool = False


def serve(channel: Channel, worker: Worker, arenas: tuple[int, int]) -> None:
    """Answer until the parent has no more questions; ``worker`` is that of a launcher, with its ``arenas``."""
    server = CaseServer(channel, (worker, arenas))
    handlers: serving.Handlers = {
        Prewarm: server.prewarm,
        OpenTarget: server.open,
        LoadLibrary: server.load,
        VerifyCase: server.verify,
        CallGuest: server.call,
    }
    try:
        serving.serve(channel, handlers)
    finally:
        server.end()


def open_session(opening: OpenTarget, progress: Callable[[str], None], launcher: Launcher | None = None) -> Session:
    """Return the session that an opening asks for."""
    return Session(
        opening.target,
        project=Project.from_json(opening.project),
        overlay={name: Path(path) for name, path in opening.overlay.items()},
        suites=None if opening.suites is None else [Path(path) for path in opening.suites],
        repeats_all=opening.repeats_all,
        progress=progress,
        launcher=launcher,
    )


def judged(planned: PlannedCase, session: Session, by: str, dump: Path | None, trace: Hear | None) -> Verdict:
    """Return the verdict by the judge whose ``module:function`` is named."""
    more: dict[str, Any] = {}
    if dump is not None:
        more["observer"] = Dump(dump)
    if trace is not None:
        more["on_run"] = Tracer(planned, session, trace)
    module, _, judge = by.partition(":")
    verdict: Verdict = getattr(import_module(module), judge)(planned, session, **more)
    return verdict


_UPCOMING = json.Decoder(VerifyCase)

BY_BITS = "bitgate.verify.pipeline:verify"
"""The judge that compares bits."""


class CaseServer:
    """A judge's process: its session, its launcher, and the handlers of its messages. No user's code runs here."""

    def __init__(self, channel: Channel, started: tuple[Worker, tuple[int, int]] | None = None) -> None:
        self._channel, self._started = channel, started
        self._session: Session | None = None
        self._launcher: LauncherProcess | None = None
        self._next: tuple[PlannedMessage, PlannedCase] | None = None
        """The case after this one, as it was asked for and as it is planned."""
        self._repetition = ONCE
        self._is_suspect = False
        """Has a case broken the device, or may it have broken the launcher, since the canary last passed?"""

    @property
    def session(self) -> Session:
        assert self._session is not None
        return self._session

    @property
    def faults_last(self) -> bool:
        """Does a fault outlast the process that it was in? A GPU's context gives errors for ever."""
        return self.session.target.platform != "host"

    @property
    def launcher(self) -> LauncherProcess:
        assert self._launcher is not None
        return self._launcher

    def prewarm(self, question: Prewarm) -> None:
        self._launcher = self._new_launcher(question.opening)
        self._launcher.prewarm(question.families)

    def _new_launcher(self, opening: OpenTarget) -> LauncherProcess:
        started, self._started = self._started, None
        return LauncherProcess(opening.target, opening.project, opening.overlay, self._channel.note, started)

    def open(self, opening: OpenTarget) -> None:
        """Open the target, with its runtime. A user's operations and declarations are data here (``add_owned``)."""
        project = Project.from_json(opening.project)
        add_owned(project.operation_files)
        if self._launcher is None or (opening.target, opening.overlay) != self._launcher.started_for:
            if self._launcher is not None:
                self._launcher.end()
            self._launcher = self._new_launcher(opening)
        self._launcher.open_as(opening.project, declared_sources(project))
        self._launcher.begin()
        native.library()  # built and loaded now, so that no case is charged for it
        self._repetition = opening.repetition
        self._session = open_session(opening, self._say_progress, self._launcher)
        self._session.foresee = lambda verdict: self._channel.note({FORESEEN: to_event(verdict)}, diagnosis_seconds())
        self._launcher.device_facts()
        gc.freeze()  # modules, declarations: there to the end

    def load(self, question: LoadLibrary) -> None:
        """Load a library. What is wrong with it each of its cases will say."""
        kernel = kernel_called(self.session.families, question.family, question.instance)
        if kernel.family.opens is None and not needs_gpu(kernel, self.session.target.platform):
            with suppress(BuildError, LibraryError, LauncherDied):
                self.session.load(kernel, race=question.race)

    def verify(self, question: VerifyCase) -> CaseAnswer:
        planned = self._planned(question)
        self.session.stage = self._say_stage if question.stages else lambda stage: None
        verdict = self._repetition.verdict(lambda left: self._verify(planned, question, left))
        return CaseAnswer(to_event(verdict), self.launcher.number)

    def _verify(self, planned: PlannedCase, question: VerifyCase, left: int) -> Verdict:
        """Return the verdict of a case that runs ``left`` times more.

        It waits where others have the device's memory, as another job on the same GPU may.
        """
        until = monotonic() + (0 if question.stages else memory_seconds(on_host=not self.faults_last))
        while True:
            self.session.lacked_memory = False
            verdict = self._attempt(planned, question, left)
            if not self.session.lacked_memory or monotonic() >= until:
                return verdict
            self._note_deadline(question, MEMORY_PAUSE)
            sleep(MEMORY_PAUSE)

    def _attempt(self, planned: PlannedCase, question: VerifyCase, left: int) -> Verdict:
        dump = Path(question.dump) if question.dump else None
        trace = self._channel.note if question.trace else None
        distressed = ""
        if self._is_suspect or not self.launcher.is_running:
            self.launcher.wait()
            distressed = self._distress()
            if not question.stages:  # the time that this took is not the case's
                self._note_deadline(question)
        if distressed:
            return self._unsound(planned, distressed)
        self.launcher.begin_case(question.seconds)
        if not left:
            self._begin_next()
        verdict = judged(planned, self.session, question.by, dump, trace)
        self._look_after(verdict)
        if left:
            self._note_deadline(question)
        return verdict

    def _note_deadline(self, question: VerifyCase, pause: float = 0.0) -> None:
        """Let the time of the case begin anew, after a pause."""
        self._channel.note({STAGE: ""}, question.seconds + GRACE_SECONDS + pause)

    def _planned(self, question: VerifyCase) -> PlannedCase:
        begun, self._next = self._next, None
        if begun is not None and begun[0] == question.planned:
            return begun[1]
        return question.planned.planned(self.session.families)

    def _begin_next(self) -> None:
        """Let the launcher begin with the next case, if it is here already."""
        line = self._channel.upcoming()
        if line is None or not self.launcher.is_running:
            return
        try:
            question = _UPCOMING.decode(line)
            if question.by != BY_BITS or question.dump or question.trace or question.stages:
                return
            planned = question.planned.planned(self.session.families)
            self._next = question.planned, planned
            begin_ahead(planned, self.session)
        except (ValidationError, UsageError, ProblemError, HipError, MemoryError):
            return  # it is no case, or says so when its turn comes

    def call(self, question: CallGuest) -> GuestAnswer:
        """Return what a guest of the launcher answers (launcher_server.py)."""
        try:
            answer = self.launcher.call(question)
        except LauncherDied as ended:
            self._is_suspect = self.faults_last
            return GuestAnswer(self.launcher.number, died=ended.reason, hung=ended.hung)
        return GuestAnswer(self.launcher.number, answer)

    def end(self) -> None:
        if self._launcher is not None:
            self._launcher.end()

    def _say_stage(self, stage: str) -> None:
        self._channel.note({STAGE: stage})

    def _say_progress(self, line: str) -> None:
        self._channel.note({"progress": line})

    def _look_after(self, verdict: Verdict) -> None:
        """Replace a launcher that may be no place for another case, and have one that is kept, or its device, tried
        first.

        A kernel that was wrong may have done what nothing looks for. It may have left too little memory, or a lock that
        is never freed.
        """
        broke = verdict.outcome in (Outcome.CRASHED, Outcome.INFRA, Outcome.CORRUPTED, Outcome.HUNG)
        wrong = verdict.outcome in (Outcome.MISMATCH, Outcome.NONDETERMINISTIC)
        changed = verdict.diagnosis is not None and "process" in verdict.diagnosis.evidence
        spoilt = changed or broke or (wrong and not self.faults_last)  # a GPU's context costs more than a process
        is_new = spoilt and self.launcher.replace()
        self._is_suspect = broke and (self.faults_last or not is_new)
        if is_new and not self.faults_last:  # a process on the host is there at once
            self.launcher.begin()

    def _distress(self) -> str:
        """Return what is wrong with a place that a case may have broken; empty if it is sound again, or was always."""
        if not self._is_suspect:
            return ""
        self.launcher.begin_case(CANARY_SECONDS * emulation.slowness())
        found = distress(self.session)
        self._is_suspect = bool(found)
        if found and not self.faults_last:  # another process is another host runtime
            self.launcher.replace()
            self._is_suspect, found = False, ""
        return found

    def _unsound(self, planned: PlannedCase, distressed: str) -> Verdict:
        evidence = Evidence(planned, self.session, self.session.clock())
        return verdict_of(evidence, Outcome.INFRA, f"the device is not sound: {distressed}")
