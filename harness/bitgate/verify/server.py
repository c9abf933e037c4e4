"""The child in which kernels run: opens a target once, and answers planned cases with verdicts.

Both ends of its questions are here: how a planned case is spelled in JSON, and what becomes of it.
"""

from __future__ import annotations

import gc
import os
import traceback
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.resolved import kernel_called
from bitgate.kernel.user_operation import add_here
from bitgate.model import Problem, parse_case_id
from bitgate.results.record import Key, Outcome, Verdict, to_event
from bitgate.verify.diagnose.engine import diagnosis_seconds
from bitgate.verify.pipeline import Dump, distress
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session
from bitgate.verify.session import prewarm as come_up
from bitgate.verify.trace import Tracer
from bitgate.verify.watch import undisturbed
from bitgate.worker.channel import Channel

ENTRY = f"{__name__}:serve"

SPIN_SECONDS = "BITGATE_SPIN_SECONDS"
LONGEST_SPIN, SHARE_OF_SPIN = 20.0, 0.1
"""Seconds of processor time, and the share of a case's deadline, that a thread may run without a barrier. The deadline
goes by the clock: on a machine whose cores do the work of others, too, a thread gets a part of it only."""

BESIDE_THE_KEY = ("tier", "suite", "test", "row", "refused", "reference", "zero_result", "repeated")
"""What else a planned case is made of, in JSON as it is."""

STAGE = "stage"
"""Note with what a case is at."""
FORESEEN = "foreseen"
"""Note with the verdict on a wrong result, should its diagnosis not come to an end."""

Hear = Callable[[dict[str, Any]], None]
"""Hears what the first launch of a case ran (``Tracer``)."""


def to_json(planned: PlannedCase) -> dict[str, Any]:
    """All that decides the verdict, and whose test it is: a suite takes no PASS that shows nothing."""
    return {**planned.key.fields(), **{name: getattr(planned, name) for name in BESIDE_THE_KEY}}


def to_verify(
    planned: PlannedCase,
    seconds: float,
    by: str,
    dump: Path | None = None,
    trace: bool = False,
    stages: bool = False,
) -> dict[str, Any]:
    """The question for a verdict. ``stages``: the child says what it is at."""
    return {
        "ask": "verify",
        "planned": to_json(planned),
        "by": by,
        "dump": str(dump.absolute()) if dump else "",
        "trace": trace,
        "stages": stages,
        "seconds": seconds,
    }


def to_prepare(family: str, instance: str, race: bool) -> dict[str, Any]:
    """The question that has a kernel's library loaded."""
    return {"ask": "prepare", "family": family, "instance": instance, "race": race}


def from_json(document: Mapping[str, Any], families: Mapping[str, KernelFamily]) -> PlannedCase:
    """UsageError for a family, instance or option that there is not."""
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
    """One object for the cases of a problem, which follow each other: what it computes of itself is kept."""
    return parse_case_id(case)


def serve(channel: Channel) -> None:
    """Answer until the parent has no more questions."""
    server = CaseServer(channel)
    answers: dict[str, Callable[[dict[str, Any]], Any]] = {
        "come_up": server.come_up,
        "open": server.open,
        "canary": server.canary,
        "prepare": server.prepare,
        "verify": server.verify,
        "call": server.call,
    }
    with undisturbed():
        while (question := channel.next()) is not None:
            try:
                channel.answer(answers[question.pop("ask")](question))
            except UsageError as error:
                channel.usage(str(error))
            except Exception:
                channel.error(traceback.format_exc())


def open_session(opening: Mapping[str, Any], progress: Callable[[str], None]) -> Session:
    """The session that an opening asks for."""
    return Session(
        opening["target"],
        project=Project.from_json(opening["project"]),
        overlay={name: Path(path) for name, path in opening["overlay"].items()},
        suites=None if opening["suites"] is None else [Path(path) for path in opening["suites"]],
        repeats_all=opening["repeats_all"],
        progress=progress,
    )


def judged(planned: PlannedCase, session: Session, by: str, dump: Path | None, trace: Hear | None) -> Verdict:
    """The verdict by the judge whose ``module:function`` is named."""
    more: dict[str, Any] = {}
    if dump is not None:
        more["observer"] = Dump(dump)
    if trace is not None:
        more["on_run"] = Tracer(planned, session, trace)
    module, _, judge = by.partition(":")
    verdict: Verdict = getattr(import_module(module), judge)(planned, session, **more)
    return verdict


class CaseServer:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._session: Session | None = None
        self._early: Session | None = None
        self._guests: dict[str, Any] = {}

    @property
    def session(self) -> Session:
        assert self._session is not None
        return self._session

    def come_up(self, question: dict[str, Any]) -> None:
        """Ahead of ``open``, which may be for other suites and more kernels: what will be needed anyway."""
        self._early = self._opened(question)
        come_up(self._early, question["families"])

    def open(self, question: dict[str, Any]) -> None:
        """The target, with its runtime. An owner's operations are loaded here, where their kernels are."""
        self._session = self._opened(question)
        if self._early is not None:
            self._session.take_over(self._early)
            self._early = None
        self._session.foresee = lambda verdict: self._channel.note({FORESEEN: to_event(verdict)}, diagnosis_seconds())
        _ = self._session.device
        gc.freeze()  # modules, declarations: there to the end

    def _opened(self, question: dict[str, Any]) -> Session:
        add_here(Project.from_json(question["project"]).operation_files)
        return open_session(question, lambda line: self._channel.note({"progress": line}))

    def canary(self, question: dict[str, Any]) -> str:
        """What is wrong with the device; empty if nothing is."""
        return distress(self.session)

    def prepare(self, question: dict[str, Any]) -> None:
        """A family's library, built and loaded, so that no case is charged for it. What is wrong with it each of its
        cases will say."""
        try:
            self.session.library(question["family"], question["instance"], race=question["race"])
        except (BuildError, LibraryError):
            return

    def verify(self, question: dict[str, Any]) -> dict[str, Any]:
        """``spent``: the process is not what it was, and no place for another case."""
        if (host := self.session.device.host) is not None and not os.environ.get(SPIN_SECONDS):
            # A thread that waits for what never comes is to be told as such before the case's time is up.
            host.set_spin_limit(min(LONGEST_SPIN, SHARE_OF_SPIN * question["seconds"]))
        dump = Path(question["dump"]) if question["dump"] else None
        trace = self._channel.note if question["trace"] else None
        planned = from_json(question["planned"], self.session.families)
        self.session.stage = self._say_stage if question["stages"] else lambda stage: None
        verdict = judged(planned, self.session, question["by"], dump, trace)
        return {"verdict": to_event(verdict), "spent": self._is_spent(verdict)}

    def call(self, question: dict[str, Any]) -> Any:
        """What a method of a guest answers: an object of a ``module:class`` that others name, made with the session at
        the first call, and kept as long as the process lives."""
        name = question["to"]
        self.session.stage = self._say_stage
        if name not in self._guests:
            module, _, guest = name.partition(":")
            self._guests[name] = getattr(import_module(module), guest)(self.session)
        return getattr(self._guests[name], question["do"])(**question["with"])

    def _say_stage(self, stage: str) -> None:
        self._channel.note({STAGE: stage})

    def _is_spent(self, verdict: Verdict) -> bool:
        """After a fault a GPU's context gives errors for ever; the host's runtime has none that last."""
        if verdict.diagnosis is not None and "process" in verdict.diagnosis.evidence:
            return True
        on_gpu = self.session.target.platform != "host"
        return on_gpu and verdict.outcome in (Outcome.CRASHED, Outcome.INFRA, Outcome.CORRUPTED)
