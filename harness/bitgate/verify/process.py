"""Kernels in a process of their own, as their callers see it: a planned case goes in, a verdict comes out.

Whatever a kernel does to the process, the case has its verdict and the next one has a sound process: one that died,
hung or was changed is replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from bitgate.device.targets import named, platform_of
from bitgate.errors import UsageError
from bitgate.isolation.child import Asked, Child, Ended, Output
from bitgate.isolation.endable import Endable
from bitgate.project import Project, ours
from bitgate.record import Outcome, RecordError, Verdict, from_event, verdict_on
from bitgate.verify.fingerprint import fingerprint
from bitgate.verify.planned import PlannedCase
from bitgate.verify.repro import repro_line
from bitgate.verify.server import ENTRY, Hear, from_json, judged, open_session, to_json
from bitgate.verify.session import Session

TIME_LIMIT = 600.0
"""Seconds that a case may take unless one asks for less."""

CANARY_SECONDS = 300.0

OPEN_SECONDS = 900.0
"""To open a device or to load a library, builds included."""

BITS = "bitgate.verify.spine:verify"
LAWS = "bitgate.verify.laws:judge_by_laws"
"""Who judges: a function in the child from a planned case and a Session to its verdict."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Opening:
    """What a process of kernels is opened with; the fields are those of ``Session``."""

    target: str
    project: Project = field(default_factory=ours)
    overlay: Mapping[str, Path] = field(default_factory=dict)
    suites: tuple[Path, ...] | None = None
    repeats_all: bool = True
    environment: Mapping[str, str] | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "project": self.project.as_json(),
            "overlay": {name: str(path.absolute()) for name, path in self.overlay.items()},
            "suites": None if self.suites is None else [str(path.absolute()) for path in self.suites],
            "repeats_all": self.repeats_all,
        }


@dataclass(frozen=True)
class Ahead:
    """A case that a child has begun before its verdict was asked for."""

    planned: PlannedCase
    by: str
    asked: Asked
    started: float

    def is_of(self, planned: PlannedCase, by: str) -> bool:
        return self.by == by and to_json(self.planned) == to_json(planned)


def _question(
    planned: PlannedCase, seconds: float, by: str, dump: Path | None = None, trace: bool = False
) -> dict[str, Any]:
    return {
        "ask": "verify",
        "planned": to_json(planned),
        "by": by,
        "dump": str(dump.absolute()) if dump else "",
        "trace": trace,
        "seconds": seconds,
    }


def to_stderr(data: bytes) -> None:
    """What kernels print is not on stdout, where answers of commands are."""
    sys.stderr.write(data.decode(errors="replace"))
    sys.stderr.flush()


class CaseProcess(Endable):
    """Started when the first case comes, replaced when one has spent it; end it, or use it in a ``with``.

    ``progress`` hears of builds, ``output`` what kernels print.
    """

    def __init__(self, opening: Opening, *, progress: Say | None = None, output: Output = to_stderr) -> None:
        self.opening = opening
        self._progress = progress
        self._output = output
        self._child: Child | None = None
        self._prepared: set[tuple[str, str, bool]] = set()
        self._broken: dict[str, str] = {}
        self._ahead: Ahead | None = None
        self._number = 0
        self._is_suspect = False
        """Has a case broken the device's context, or its process, since the canary last passed?"""

    def end(self) -> None:
        """End the process. The next case would start another one."""
        if self._child is not None:
            child, self._child = self._child, None
            child.end()
        self._prepared.clear()
        self._ahead = None

    def verify(
        self,
        planned: PlannedCase,
        seconds: float = TIME_LIMIT,
        *,
        by: str = BITS,
        dump: Path | None = None,
        trace: Hear | None = None,
    ) -> Verdict:
        """The verdict of one planned case, within ``seconds`` once its library is loaded.

        ``trace`` hears of its first launch. UsageError as the judge; also if the target cannot be opened.
        """
        started = perf_counter()
        ahead, running = self._ahead, self._child
        if ahead is not None and running is not None and ahead.is_of(planned, by) and not dump and trace is None:
            self._ahead = None
            return self._answered(running, ahead.asked, planned, ahead.started)
        self._forget()
        if broken := self._broken.get(planned.key.kernel):
            return self._ended(planned, Outcome.CRASHED, broken, started)
        if distress := self._sound_out():
            return self._ended(planned, Outcome.INFRA, f"the device is not sound: {distress}", started)
        child = self._prepare(planned)
        if isinstance(child, Ended):
            return self._ended(planned, Outcome.HUNG if child.hung else Outcome.CRASHED, child.reason, started)
        started = perf_counter()  # building and loading is no part of the case
        question = _question(planned, seconds, by, dump, trace is not None)
        try:
            asked = child.put(question, seconds)
        except Ended as ended:
            return self._died(planned, ended, started)
        return self._answered(child, asked, planned, started, trace)

    def ahead(self, planned: PlannedCase, seconds: float = TIME_LIMIT, *, by: str = BITS) -> None:
        """Let the child begin with a case while the caller is busy with the verdict on the one before; the next
        ``verify`` fetches it, if it is about this case. Its deadline runs from now on. Nothing happens where something
        has to be prepared first, or is broken: then the case begins when its verdict is asked for."""
        family, instance, _ = planned.kernel.names
        part = (family, instance, planned.raced)
        child = self._child
        if child is None or self._ahead or self._is_suspect or part not in self._prepared or not child.is_usable:
            return
        try:
            asked = child.put(_question(planned, seconds, by), seconds)
        except Ended:
            self._replace()
            return
        self._ahead = Ahead(planned, by, asked, perf_counter())

    def _forget(self) -> None:
        """Nobody wants to know what began ahead: the verdict is waited for, and is none."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or (child := self._child) is None:
            return
        try:
            answer = child.answer(ahead.asked, self._hear)
        except (Ended, UsageError, RuntimeError):
            self._replace()
            return
        if not isinstance(answer, dict) or answer.get("spent", True):
            self._replace()

    def _answered(
        self, child: Child, asked: Asked, planned: PlannedCase, started: float, trace: Hear | None = None
    ) -> Verdict:
        try:
            answer = child.answer(asked, lambda note: self._hear(note, trace))
            verdict = from_event(answer["verdict"])
        except Ended as ended:
            return self._died(planned, ended, started)
        except (RecordError, KeyError, TypeError) as error:
            self._replace()
            return self._ended(planned, Outcome.CRASHED, f"its process answered with no verdict: {error}", started)
        if answer["spent"]:
            self._replace()
        return verdict

    def _died(self, planned: PlannedCase, ended: Ended, started: float) -> Verdict:
        self._replace()
        return self._ended(planned, Outcome.HUNG if ended.hung else Outcome.CRASHED, ended.reason, started)

    @property
    def is_running(self) -> bool:
        """Is there a process that would be asked?"""
        return self._child is not None and self._child.is_usable

    @property
    def number(self) -> int:
        """Which process it is by now: what was left in an earlier one is gone."""
        return self._number if self.is_running else self._number + 1

    def call(self, to: str, do: str, arguments: Mapping[str, Any], seconds: float) -> Any:
        """What the method ``do`` of the guest ``module:class`` answers (server.py). Ended if the process does not live
        to answer, or takes longer; it is replaced then."""
        self._forget()
        question = {"ask": "call", "to": to, "do": do, "with": dict(arguments)}
        try:
            return self._opened().ask(question, seconds, self._hear)
        except Ended:
            self._replace()
            raise

    def _replace(self) -> None:
        """The next case gets another process; on a GPU a small case of ours goes first."""
        self.end()
        self._is_suspect = platform_of(self.opening.target) != "host"

    def _sound_out(self) -> str:
        """What is wrong with a device that a case has broken; empty if it is sound again, or was all the time."""
        if not self._is_suspect:
            return ""
        try:
            distress = str(self._opened().ask({"ask": "canary"}, CANARY_SECONDS, self._hear))
        except Ended as ended:
            self.end()
            return f"a small case of the naive kernel: {ended.reason}"
        self._is_suspect = bool(distress)
        return distress

    def _prepare(self, planned: PlannedCase) -> Child | Ended:
        """A child that has the case's library loaded; Ended if loading it ends the child, and always will."""
        child = self._opened()
        # Where an instance has a library of its own, it is asked for by that; elsewhere asking again costs nothing new.
        family, instance, _ = planned.kernel.names
        part = (family, instance, planned.raced)
        if part in self._prepared:
            return child
        question = {"ask": "prepare", "family": family, "instance": instance, "race": planned.raced}
        try:
            child.ask(question, OPEN_SECONDS, self._hear)
        except Ended as ended:
            self.end()
            self._broken[family] = f"while its library was loaded: {ended.reason}"
            return Ended(self._broken[family], hung=ended.hung)
        self._prepared.add(part)
        return child

    def _opened(self) -> Child:
        if self._child is not None and self._child.is_usable:
            return self._child
        self.end()
        child = Child(ENTRY, self._output, environment=self.opening.environment)
        try:
            child.ask({"ask": "open", **self.opening.as_json()}, OPEN_SECONDS, self._hear)
        except Ended as ended:
            raise UsageError(
                f"the process for kernels of {self.opening.target} does not start: {ended.reason}: see bitgate doctor"
            ) from None
        except BaseException:
            child.end()
            raise
        self._child = child
        self._number += 1
        return child

    def _hear(self, note: Any, trace: Hear | None = None) -> None:
        if isinstance(note, dict) and "progress" in note:
            if self._progress is not None:
                self._progress(str(note["progress"]))
        elif trace is not None and isinstance(note, dict):
            trace(note)

    def _ended(self, planned: PlannedCase, outcome: Outcome, reason: str, started: float) -> Verdict:
        """The verdict on a case that left nobody to speak for it."""
        target = named(planned.target)
        places = [path.resolve().parent for path in self.opening.project.declarations]
        places += self.opening.suites or self.opening.project.shelves
        return verdict_on(
            planned,
            target,
            outcome,
            reason,
            seconds={"total": perf_counter() - started},
            repro=repro_line(planned, self.opening.project.added),
            foreign=planned.foreign,
            fingerprint=fingerprint(target, places),
        )


class ThisProcess(Endable):
    """A CaseProcess that is none: kernels run right here, where a debugger is attached. A verdict of it vouches for
    nothing, since a kernel can do what it likes to whoever reads it."""

    def __init__(self, opening: Opening, *, progress: Say | None = None) -> None:
        self.opening = opening
        self._progress = progress

    def end(self) -> None:
        """Nothing to end."""

    def ahead(self, planned: PlannedCase, seconds: float = TIME_LIMIT, *, by: str = BITS) -> None:
        """One process does one thing at a time."""

    @cached_property
    def _session(self) -> Session:
        return open_session(self.opening.as_json(), self._progress or (lambda line: None))

    def verify(
        self,
        planned: PlannedCase,
        seconds: float = TIME_LIMIT,
        *,
        by: str = BITS,
        dump: Path | None = None,
        trace: Hear | None = None,
    ) -> Verdict:
        """As ``CaseProcess.verify``, without a deadline."""
        # An owner's declaration is data where cases are planned, and code where they run.
        here = from_json(to_json(planned), self._session.families)
        return judged(here, self._session, by, dump, trace)
