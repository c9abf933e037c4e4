"""Kernels in a process of their own, as their callers see it: a planned case goes in, a verdict comes out.

Whatever a kernel does to the process, the case has its verdict and the next one has a sound process: one that died,
hung or was changed is replaced.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.results.record import Outcome, RecordError, Verdict, from_event, verdict_on
from bitgate.runtime.targets import named, platform_of
from bitgate.verify.deadline import Deadline
from bitgate.verify.fingerprint import fingerprint
from bitgate.verify.output_limit import OutputLimit, to_stderr
from bitgate.verify.planned import PlannedCase, repro_line
from bitgate.verify.prefetch import Prefetch
from bitgate.verify.server import ENTRY, FORESEEN, STAGE, Hear, to_prepare, to_verify
from bitgate.worker.child import Output, Request, Worker, WorkerDied
from bitgate.worker.endable import Endable

TIME_LIMIT = 600.0
"""Seconds that a case may take unless one asks for less."""

CANARY_SECONDS = 300.0

OPEN_SECONDS = 900.0
"""To open a device or to load a library, builds included."""

BITS = "bitgate.verify.pipeline:verify"
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


class CaseProcess(Endable):
    """Started when the first case comes, or before; replaced when one has spent it. End it, or use it in a
    ``with``.

    ``progress`` hears of builds, ``output`` what kernels print.
    """

    def __init__(self, opening: Opening, *, progress: Say | None = None, output: Output = to_stderr) -> None:
        self.opening = opening
        self._progress = progress
        self._output = OutputLimit(output)
        self._child: Worker | None = None
        self._prepared: set[tuple[str, str, bool]] = set()
        self._broken: dict[str, str] = {}
        self._coming_up: Request | None = None
        self._opening: Request | None = None
        self._line: deque[Prefetch] = deque()
        self._kept: deque[tuple[Prefetch, Verdict | Exception]] = deque()
        """What came of cases that began ahead when another question came between: they are not launched again, since
        one that fails now and then might not fail then."""
        self._foreseen: dict[str, Any] = {}
        """The verdict on the case that is being answered, should its diagnosis not end."""
        self._is_new = False
        self._number = 0
        self._is_suspect = False
        """Has a case broken the device's context, or its process, since the canary last passed?"""

    def end(self) -> None:
        """End the process. The next case would start another one."""
        if self._child is not None:
            child, self._child = self._child, None
            child.end()
        self._prepared.clear()
        self._line.clear()
        self._coming_up = self._opening = None

    def verify(
        self,
        planned: PlannedCase,
        seconds: float = TIME_LIMIT,
        *,
        by: str = BITS,
        dump: Path | None = None,
        trace: Hear | None = None,
        patience: Deadline | None = None,
    ) -> Verdict:
        """The verdict of one planned case, within ``seconds`` once its library is loaded; of a caller who has no
        ``patience`` for that before.

        ``trace`` hears of its first launch. UsageError as the judge; also if the target cannot be opened.
        """
        started = perf_counter()
        self._see_to_it()
        if not dump and trace is None and patience is None:
            if (kept := self._kept_of(planned, by)) is not None:
                return kept
            if self._line and self._line[0].is_of(planned, by):
                self._settle()
                if self._line:
                    return self._first_in_line()
        self._keep()
        if broken := self._broken.get(planned.key.kernel):
            return self._ended(planned, Outcome.CRASHED, broken, started)
        if distress := self._sound_out():
            return self._ended(planned, Outcome.INFRA, f"the device is not sound: {distress}", started)
        child = self._prepare(planned)
        if isinstance(child, WorkerDied):
            return self._ended(planned, Outcome.HUNG if child.hung else Outcome.CRASHED, child.reason, started)
        started = perf_counter()  # building and loading is no part of the case
        question = to_verify(planned, seconds, by, dump, trace is not None, patience is not None)
        asked = child.put(question, seconds if patience is None else min(seconds, patience.seconds))
        return self._answered(child, asked, planned, started, trace, patience)

    def ahead(self, planned: PlannedCase, seconds: float = TIME_LIMIT, *, by: str = BITS) -> bool:
        """Let the child begin with a case while the caller is busy with the verdicts on those before; each ``verify``
        fetches the next one, if it is about that case. Its time counts from when nothing is before it any more. False,
        and nothing happens, where its library or the device is not sound: then the case begins when its verdict is
        asked for."""
        family, instance, _ = planned.kernel.names
        self._see_to_it()
        if self._is_suspect or family in self._broken or self._has_died_in_line:
            return False
        part, prepare = (family, instance, planned.raced), None
        try:
            child = self._started()
        except UsageError:
            return False
        if part not in self._prepared:
            prepare = child.put(to_prepare(*part), OPEN_SECONDS)
            self._prepared.add(part)
        asked = child.put(to_verify(planned, seconds, by), seconds)
        self._line.append(Prefetch(planned, by, asked, prepare))
        return True

    @property
    def _has_died_in_line(self) -> bool:
        """A process that ended over what it was given: whoever asks for that hears how, before there is another one."""
        return bool(self._line) and self._child is not None and not self._child.is_alive

    def _see_to_it(self) -> None:
        """One who broke off while he waited has ended the process, and left what it was given."""
        if self._child is not None and not self._child.is_open:
            self.end()

    @property
    def in_line(self) -> int:
        """How many cases have begun ahead, or will."""
        return len(self._kept) + len(self._line)

    @property
    def bell(self) -> int:
        """A descriptor that can be read when something has come of what has begun ahead; -1 if nothing will."""
        return self._child.bell if self._child is not None and self._line else -1

    def is_ready(self, *, silent: bool = False) -> bool:
        """Would ``verify`` of what is first in line come at once? ``silent``: nothing was heard for a while."""
        child = self._child
        if child is None or not self._line or self._kept:
            return True
        if self._coming_up is not None:
            if not child.hears(self._coming_up, self._hear, silent=silent):
                return False
            if not self._has_come_up(child):
                return True
        if self._opening is not None and not child.hears(self._opening, self._hear, silent=silent):
            return False
        if (prepare := self._line[0].prepare) is not None:
            if self._opening is None and not child.hears(prepare, self._hear, silent=silent):
                return False
            try:
                self._settle()
            except (UsageError, RuntimeError):
                return True  # which the verdict's caller is to hear
        return not self._line or child.hears(self._line[0].asked, self._hear, silent=silent)

    def _settle(self) -> None:
        """Hear that the process is open and the library of the first in line loaded. Nothing is left in line if that
        has ended the process. UsageError if it cannot be opened."""
        ahead, child = self._line[0], self._child
        if child is None:
            return
        if self._opening is not None:
            self._hear_of_opening(child)
            if self._child is None:
                return
            ahead.starts()
        if ahead.prepare is None:
            return
        try:
            with suppress(UsageError, RuntimeError):  # the case itself says it again
                child.answer(ahead.prepare, self._hear)
        except WorkerDied as ended:
            self.end()
            self._breaks(ahead.planned, ended)
        else:
            ahead.prepare = None
            ahead.starts()

    def _first_in_line(self) -> Verdict:
        ahead, child = self._line.popleft(), self._child
        assert child is not None
        try:
            return self._answered(child, ahead.asked, ahead.planned, ahead.started)
        finally:
            if self._line:
                self._line[0].starts()

    def _keep(self) -> None:
        """Another question comes first: what began ahead is waited for, for whoever asks for it later."""
        while self._line:
            with suppress(UsageError, RuntimeError):  # that it does not open whoever asks next hears again
                self._settle()
            if self._line:
                ahead = self._line[0]
                try:
                    verdict: Verdict | Exception = self._first_in_line()
                except (UsageError, RuntimeError) as error:
                    verdict = error
                self._kept.append((ahead, verdict))

    def _kept_of(self, planned: PlannedCase, by: str) -> Verdict | None:
        """What has come of the case already; what was wrong with it is raised."""
        for number, (ahead, verdict) in enumerate(self._kept):
            if ahead.is_of(planned, by):
                del self._kept[number]
                if isinstance(verdict, Exception):
                    raise verdict
                return verdict
        return None

    def _answered(
        self,
        child: Worker,
        asked: Request,
        planned: PlannedCase,
        started: float,
        trace: Hear | None = None,
        patience: Deadline | None = None,
    ) -> Verdict:
        self._output.next_case()
        try:
            answer = self._answer(child, asked, trace, patience)
            verdict = from_event(answer["verdict"])
        except WorkerDied as ended:
            return self._died(planned, ended, started, self._foreseen)
        except (RecordError, KeyError, TypeError) as error:
            self._replace()
            return self._ended(planned, Outcome.CRASHED, f"its process answered with no verdict: {error}", started)
        finally:
            self._foreseen = {}
        if answer["spent"]:
            self._replace()
        return verdict

    def _died(self, planned: PlannedCase, ended: WorkerDied, started: float, foreseen: dict[str, Any]) -> Verdict:
        """A result that was found wrong before remains so."""
        self._replace()
        if foreseen:
            with suppress(RecordError, KeyError, TypeError):
                known = from_event(foreseen)
                if known.outcome in (Outcome.MISMATCH, Outcome.NONDETERMINISTIC):
                    return _undiagnosed(known, ended)
        return self._ended(planned, Outcome.HUNG if ended.hung else Outcome.CRASHED, ended.reason, started)

    @property
    def is_running(self) -> bool:
        """Is there a process that would be asked?"""
        return self._child is not None and self._child.is_usable

    @property
    def number(self) -> int:
        """Which process it is by now: what was left in an earlier one is gone."""
        return self._number if self.is_running else self._number + 1

    def call(
        self, to: str, do: str, arguments: Mapping[str, Any], seconds: float, patience: Deadline | None = None
    ) -> Any:
        """What the method ``do`` of the guest ``module:class`` answers (server.py). Ended if the process does not live
        to answer, or takes longer; it is replaced then."""
        self._keep()
        question = {"ask": "call", "to": to, "do": do, "with": dict(arguments)}
        try:
            child = self._opened()
            asked = child.put(question, seconds if patience is None else min(seconds, patience.seconds))
            return self._answer(child, asked, None, patience)
        except WorkerDied:
            self._replace()
            raise

    def _answer(self, child: Worker, asked: Request, trace: Hear | None, patience: Deadline | None) -> Any:
        """Ended as ``Worker.answer``."""
        if patience is not None:
            patience.begins(asked)
        try:
            return child.answer(asked, lambda note: self._hear(note, trace, patience))
        except WorkerDied as ended:
            if patience is not None:
                patience.is_over = ended.late
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
        except WorkerDied as ended:
            self.end()
            return f"a small case of the naive kernel: {ended.reason}"
        self._is_suspect = bool(distress)
        return distress

    def _prepare(self, planned: PlannedCase) -> Worker | WorkerDied:
        """A child that has the case's library loaded; Ended if loading it ends the child, and always will."""
        child = self._opened()
        # Where an instance has a library of its own, it is asked for by that; elsewhere asking again costs nothing new.
        family, instance, _ = planned.kernel.names
        part = (family, instance, planned.raced)
        if part in self._prepared:
            return child
        try:
            child.ask(to_prepare(*part), OPEN_SECONDS, self._hear)
        except WorkerDied as ended:
            self.end()
            return WorkerDied(self._breaks(planned, ended), hung=ended.hung)
        self._prepared.add(part)
        return child

    def _breaks(self, planned: PlannedCase, ended: WorkerDied) -> str:
        """Loading its library has ended the process: no other is started for it."""
        self._broken[planned.key.kernel] = f"while its library was loaded: {ended.reason}"
        return self._broken[planned.key.kernel]

    def spawn(self) -> None:
        """Let a process come up that knows nothing yet: ``opening`` may still be changed but for its environment."""
        self.end()
        try:
            self._child = Worker(ENTRY, self._output, environment=self.opening.environment)
        except OSError as error:
            raise UsageError(f"no further process for kernels can be started: {error.strerror or error}") from None
        self._is_new = True
        self._number += 1

    def come_up(self, families: Collection[str]) -> None:
        """Let a process that was spawned open its device, and load what is built of these families, while its caller
        still finds out what it is to be opened with. Nothing comes of it but time."""
        assert self._child is not None
        self._coming_up = self._child.put(
            {"ask": "come_up", **self.opening.as_json(), "families": list(families)}, OPEN_SECONDS
        )

    def start(self) -> None:
        """Let the process open its target; whoever needs it first waits for it. UsageError as ``verify``."""
        self._started()

    def _started(self) -> Worker:
        child = self._child
        is_asked = self._line or self._opening or self._coming_up
        if child is None or not (child.is_alive if is_asked else child.is_usable):
            self.spawn()
        child = self._child
        assert child is not None
        if self._is_new:
            self._is_new = False
            self._opening = child.put({"ask": "open", **self.opening.as_json()}, OPEN_SECONDS)
        return child

    def _opened(self) -> Worker:
        child = self._started()
        self._hear_of_opening(child)
        if child is not self._child:  # it has not come up
            child = self._started()
            self._hear_of_opening(child)
        return child

    def _has_come_up(self, child: Worker) -> bool:
        """Hear that it has done what it could before it was opened. One that has ended over that is gone: the next is
        opened as if there had been none, and ends over it again where that matters."""
        if self._coming_up is not None:
            coming_up, self._coming_up = self._coming_up, None
            try:
                with suppress(UsageError, RuntimeError):  # opening it says that again
                    child.answer(coming_up, self._hear)
            except WorkerDied:
                self.end()
            except BaseException:
                self.end()
                raise
        return self._child is child

    def _hear_of_opening(self, child: Worker) -> None:
        """It may have ended since, by a library that it was to load: that is no matter of its opening."""
        if self._opening is None or not self._has_come_up(child):
            return
        opening, self._opening = self._opening, None
        try:
            child.answer(opening, self._hear)
        except WorkerDied as ended:
            self.end()
            raise self._does_not_start(ended) from None
        except BaseException:
            self.end()
            raise

    def _does_not_start(self, ended: WorkerDied) -> UsageError:
        target = self.opening.target
        return UsageError(f"the process for kernels of {target} does not start: {ended.reason}: see bitgate doctor")

    def _hear(self, note: Any, trace: Hear | None = None, patience: Deadline | None = None) -> None:
        if isinstance(note, dict) and FORESEEN in note:
            self._foreseen = note[FORESEEN]
        elif isinstance(note, dict) and STAGE in note:
            if patience is not None:
                patience.hears(str(note[STAGE]))
        elif isinstance(note, dict) and "progress" in note:
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


def _undiagnosed(verdict: Verdict, ended: WorkerDied) -> Verdict:
    """A wrong result of which nobody can say more: its diagnosis has ended the process, or had to be ended with it."""
    why = ended.reason.replace("no verdict within", "it did not end within")
    sentence = f"{verdict.reason}; what they have in common is not known, the diagnosis broke off: {why}"
    diagnosis = verdict.diagnosis and replace(verdict.diagnosis, sentence=sentence)
    return replace(verdict, reason=sentence, diagnosis=diagnosis)
