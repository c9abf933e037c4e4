"""The child in which kernels run: it opens a target once, and answers planned cases with verdicts.

The messages between it and its parent are defined here, and how a planned case is written in JSON.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from bitgate.core.project import Project
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.resolved import kernel_called
from bitgate.kernel.user_operation import add_here
from bitgate.model import Problem, parse_case_id
from bitgate.results.record import Key, Outcome, Verdict, to_event
from bitgate.verify.canary import distress
from bitgate.verify.diagnose.engine import diagnosis_seconds
from bitgate.verify.pipeline import Dump
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session, prewarm
from bitgate.verify.trace import Tracer
from bitgate.verify.watch import undisturbed
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.serving import Message

ENTRY = f"{__name__}:serve"

SPIN_SECONDS = "BITGATE_SPIN_SECONDS"
LONGEST_SPIN, SHARE_OF_SPIN = 20.0, 0.1
"""Seconds of processor time, and the share of a case's deadline, that a thread may run without a barrier. The deadline
goes by the clock: on a busy machine a thread gets a part of it only."""

BESIDE_THE_KEY = ("tier", "suite", "test", "row", "refused", "reference", "zero_result", "repeated")
"""The other fields of a planned case in JSON."""

STAGE = "stage"
"""Note with what a case is at."""
FORESEEN = "foreseen"
"""Note with the verdict on a wrong result, should its diagnosis not come to an end."""

Hear = Callable[[dict[str, Any]], None]
"""Hears what the first launch of a case ran (``Tracer``)."""


def to_json(planned: PlannedCase) -> dict[str, Any]:
    """Return all that decides the verdict, and whose test it is: a suite takes no PASS that shows nothing."""
    return {**planned.key.fields(), **{name: getattr(planned, name) for name in BESIDE_THE_KEY}}


class OpenTarget(Message):
    """The opening of a process of kernels; the fields are those of ``Session``."""

    target: str
    project: dict[str, Any]
    overlay: dict[str, str]
    suites: tuple[str, ...] | None
    repeats_all: bool


class Prewarm(Message):
    """Ahead of the opening, which may be for other suites and more kernels: what will be needed anyway."""

    opening: OpenTarget
    families: tuple[str, ...]


class RunCanary(Message):
    """A question for what is wrong with the device; empty if nothing is."""


class LoadLibrary(Message):
    """A question that has a kernel's library built and loaded, so that no case is charged for it."""

    family: str
    instance: str
    race: bool


class VerifyCase(Message):
    """A question for a verdict; ``by`` names the judge, and with ``stages`` the child says what the case is at."""

    planned: dict[str, Any]
    by: str
    seconds: float
    dump: str = ""
    trace: bool = False
    stages: bool = False


class CaseAnswer(Struct):
    """A verdict as an event; ``spent``: the process is not what it was, and no place for another case. ``tenant``: the
    family whose threads still run in it, so that it is no place for a case of another family."""

    verdict: dict[str, Any]
    spent: bool
    tenant: str = ""


class CallGuest(Message):
    """A question for the method ``do`` of a guest ``module:class``, with these arguments."""

    to: str
    do: str
    arguments: dict[str, Any]


def from_json(document: Mapping[str, Any], families: Mapping[str, KernelFamily]) -> PlannedCase:
    """Return the planned case. UsageError for an unknown family, instance or option."""
    key = Key.of(document)
    return PlannedCase(
        problem=_problem(key.case),
        kernel=kernel_called(families, key.kernel, key.instance, key.options),
        fill=key.fill,
        seed=key.seed,
        schedule=key.schedule,
        target=key.target,
        **{name: document[name] for name in BESIDE_THE_KEY},
    )


@lru_cache(maxsize=256)
def _problem(case: str) -> Problem:
    """Return one object for the cases of a problem, which follow each other: what it computes of itself is kept."""
    return parse_case_id(case)


def serve(channel: Channel) -> None:
    """Answer until the parent has no more questions."""
    server = CaseServer(channel)
    handlers: serving.Handlers = {
        Prewarm: server.prewarm,
        OpenTarget: server.open,
        RunCanary: lambda question: distress(server.session),
        LoadLibrary: server.load,
        VerifyCase: server.verify,
        CallGuest: server.call,
    }
    with undisturbed():
        serving.serve(channel, handlers)


def open_session(opening: OpenTarget, progress: Callable[[str], None]) -> Session:
    """Return the session that an opening asks for."""
    return Session(
        opening.target,
        project=Project.from_json(opening.project),
        overlay={name: Path(path) for name, path in opening.overlay.items()},
        suites=None if opening.suites is None else [Path(path) for path in opening.suites],
        repeats_all=opening.repeats_all,
        progress=progress,
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


class CaseServer:
    """The session of a process of kernels, and the handlers of its messages."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._session: Session | None = None
        self._early: Session | None = None
        self._guests: dict[str, Any] = {}

    @property
    def session(self) -> Session:
        assert self._session is not None
        return self._session

    def prewarm(self, question: Prewarm) -> None:
        self._early = self._opened(question.opening)
        prewarm(self._early, question.families)

    def open(self, opening: OpenTarget) -> None:
        """Open the target, with its runtime. A user's operations are loaded here, where their kernels are."""
        self._session = self._opened(opening)
        if self._early is not None:
            self._session.take_over(self._early)
            self._early = None
        self._session.foresee = lambda verdict: self._channel.note({FORESEEN: to_event(verdict)}, diagnosis_seconds())
        _ = self._session.device
        gc.freeze()  # modules, declarations: there to the end

    def _opened(self, opening: OpenTarget) -> Session:
        add_here(Project.from_json(opening.project).operation_files)
        return open_session(opening, lambda line: self._channel.note({"progress": line}))

    def load(self, question: LoadLibrary) -> None:
        """Load a library. What is wrong with it each of its cases will say."""
        with suppress(BuildError, LibraryError):
            self.session.library(question.family, question.instance, race=question.race)

    def verify(self, question: VerifyCase) -> CaseAnswer:
        if (host := self.session.device.host) is not None and not os.environ.get(SPIN_SECONDS):
            # A thread that waits for what never comes is to be reported as such before the case's time is up.
            host.set_spin_limit(min(LONGEST_SPIN, SHARE_OF_SPIN * question.seconds))
        dump = Path(question.dump) if question.dump else None
        trace = self._channel.note if question.trace else None
        planned = from_json(question.planned, self.session.families)
        self.session.stage = self._say_stage if question.stages else lambda stage: None
        verdict = judged(planned, self.session, question.by, dump, trace)
        return CaseAnswer(to_event(verdict), self._is_spent(verdict), self.session.tenant)

    def call(self, question: CallGuest) -> Any:
        """Return what a guest answers: an object that is made with the session at the first call, and kept as long as
        the process lives."""
        self.session.stage = self._say_stage
        if question.to not in self._guests:
            module, _, guest = question.to.partition(":")
            self._guests[question.to] = getattr(import_module(module), guest)(self.session)
        return getattr(self._guests[question.to], question.do)(**question.arguments)

    def _say_stage(self, stage: str) -> None:
        self._channel.note({STAGE: stage})

    def _is_spent(self, verdict: Verdict) -> bool:
        """Return whether the process is no place for another case. After a fault a GPU's context gives errors for
        ever; those of the host's runtime do not last."""
        if verdict.diagnosis is not None and "process" in verdict.diagnosis.evidence:
            return True
        on_gpu = self.session.target.platform != "host"
        return on_gpu and verdict.outcome in (Outcome.CRASHED, Outcome.INFRA, Outcome.CORRUPTED)
