"""A judge's process, as its callers see it: a planned case goes in, a verdict comes out.

Kernels run in a launcher, the judge's own child, which it replaces itself. Whatever becomes of both, the case has its
verdict and the next one has a sound process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec import ValidationError, convert

from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.core.untrusted import printable, shown
from bitgate.results.record import Outcome, RecordError, Verdict, from_event, verdict_on
from bitgate.runtime.targets import named
from bitgate.verify.deadline import Deadline
from bitgate.verify.fingerprint import fingerprint
from bitgate.verify.launcher_messages import CallGuest
from bitgate.verify.launcher_worker import GRACE_SECONDS, OPEN_SECONDS, PRELOAD
from bitgate.verify.output_limit import OutputLimit, to_stderr
from bitgate.verify.planned import PlannedCase, PlannedMessage, repro_line
from bitgate.verify.repetition import ONCE, Repetition
from bitgate.verify.server import (
    BY_BITS,
    ENTRY,
    FORESEEN,
    STAGE,
    CaseAnswer,
    GuestAnswer,
    Hear,
    LoadLibrary,
    OpenTarget,
    Prewarm,
    VerifyCase,
)
from bitgate.worker.child import Output
from bitgate.worker.endable import Endable
from bitgate.worker.worker import Request, Worker, WorkerDied

TIME_LIMIT = 600.0
"""Seconds that a case may take unless its caller asks for less."""

BITS = BY_BITS
LAWS = "bitgate.verify.laws:judge_by_laws"
CONCURRENT = "bitgate.verify.concurrent:judge_concurrently"
"""Judges: functions in the child from a planned case and a Session to its verdict."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Opening:
    """The settings that a process of kernels is opened with; the fields are those of ``Session``."""

    target: str
    project: Project = field(default_factory=ours)
    overlay: Mapping[str, Path] = field(default_factory=dict)
    suites: tuple[Path, ...] | None = None
    repeats_all: bool = True
    environment: Mapping[str, str] | None = None
    repetition: Repetition = ONCE

    def message(self) -> OpenTarget:
        return OpenTarget(
            self.target,
            self.project.as_json(),
            {name: str(path.absolute()) for name, path in self.overlay.items()},
            None if self.suites is None else tuple(str(path.absolute()) for path in self.suites),
            self.repeats_all,
            self.repetition,
        )


@dataclass(frozen=True, eq=False)
class CaseRequest:
    """A question for the verdict of a planned case by a judge, within ``seconds`` once its library is loaded."""

    planned: PlannedCase
    seconds: float = TIME_LIMIT
    by: str = BITS

    def is_same(self, other: CaseRequest) -> bool:
        """Would both have the same verdict, whatever their time limits?"""
        return self.by == other.by and (
            self.planned is other.planned or PlannedMessage.of(self.planned) == PlannedMessage.of(other.planned)
        )


@dataclass(eq=False)
class _Begun:
    """A case that has begun, or will, before its verdict is fetched; ``loading``: the request ahead of it that loads
    its library, if there is one."""

    case: CaseRequest
    asked: Request
    loading: Request | None = None
    foreseen: dict[str, Any] = field(default_factory=dict)
    """The verdict on a wrong result, should its diagnosis not end."""
    verdict: Verdict | Exception | None = None
    """Its result, where another question came first: it is not launched again, since a flaky one might pass then."""


class CaseProcess(Endable):
    """A judge and its launcher: started when the first case comes, or before; replaced when the judge ends.

    ``progress`` hears of builds, ``output`` what kernels print. End it, or use it in a ``with``.
    """

    def __init__(self, opening: Opening, *, progress: Say | None = None, output: Output = to_stderr) -> None:
        self.opening = opening
        self._progress = progress
        self._output = OutputLimit(output)
        self._worker = Worker(
            ENTRY,
            self._output,
            opening_seconds=OPEN_SECONDS,
            hear=self._hear,
            environment=opening.environment,
            preload=PRELOAD,
            has_zygote=True,
            may_extend=True,
        )
        self._loaded: set[tuple[str, str, bool]] = set()
        self._line: deque[_Begun] = deque()
        """Cases that began ahead, and have no verdict yet."""
        self._settled: list[_Begun] = []
        """Cases whose verdict came before it was fetched, since another question came first. They are not launched
        again: a flaky one might pass then."""
        self._early: Request | None = None
        self._launcher = 1
        """The number of the judge's launcher that the next case gets, as far as was said."""
        self._replaced = 0
        """The launchers that judges have replaced."""
        self._device_id: dict[str, str] = {}
        """Of the device that gave the last verdict, for one whose process gives none."""

    # ---- its process

    def end(self) -> None:
        """End the process. The next case would start another one."""
        self._worker.end()
        self._forget()

    def _forget(self) -> None:
        """Forget what an earlier process was given, or had loaded; verdicts that came are kept."""
        self._loaded.clear()
        self._line.clear()
        self._launcher = 1

    def spawn(self) -> None:
        """Let a process start that knows nothing yet: ``opening`` may still be changed but for its environment."""
        self.end()
        try:
            self._worker.start()
        except OSError as error:
            raise UsageError(f"no further process for kernels can be started: {error.strerror or error}") from None

    def prewarm(self, families: Collection[str]) -> None:
        """Let a process that was spawned open its device, and load what is built of these families, while its caller
        still finds out what it is to be opened with. This saves time and changes nothing else."""
        message = Prewarm(self.opening.message(), tuple(families))
        self._early = self._worker.put(message, OPEN_SECONDS, self._hear, early=True)

    def start(self) -> None:
        """Let the process open its target, without waiting for it. UsageError if no process can be started."""
        if not self._worker.is_usable:
            self.spawn()
        if not self._worker.has_begun:
            self._worker.opening = self.opening.message()
            self._worker.begin()

    @property
    def is_running(self) -> bool:
        """Is there a process that would be asked?"""
        return self._worker.is_usable

    @property
    def number(self) -> int:
        """A number that grows with each process that kernels ran in: what was left in an earlier one is gone."""
        return self._worker.number + (not self.is_running) + self._replaced

    # ---- cases

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
        """Return the verdict of one planned case, within ``seconds`` once its library is loaded, or when a caller's
        ``patience`` is over.

        ``trace`` hears of its first launch. UsageError as the judge; also if the target cannot be opened.
        """
        case = CaseRequest(planned, seconds, by)
        self._see_to_it()
        if not dump and trace is None and patience is None:
            begun = next((one for one in (*self._settled, *self._line) if one.case.is_same(case)), None)
            if begun is not None and (verdict := self._fetched(begun)) is not None:
                return verdict
        self._settle()
        self._load(planned)
        limit = seconds + GRACE_SECONDS if patience is None else min(seconds, patience.seconds)
        folder = str(dump.absolute()) if dump else ""
        message = VerifyCase(PlannedMessage.of(planned), by, seconds, folder, trace is not None, patience is not None)
        begun = self._put(case, message, limit, trace, patience)
        self._output.next_case()
        if patience is not None:
            patience.begins(begun.asked)
        verdict = self._answered(begun, patience)
        assert verdict is not None  # nothing was before it
        return verdict

    def ahead(self, planned: PlannedCase, seconds: float = TIME_LIMIT, *, by: str = BITS) -> bool:
        """Let the child begin with a case while the caller is busy with the verdicts on those before; ``verify``
        fetches its verdict. Its timeout starts once all earlier requests have completed. False, and nothing happens,
        where no process can be had: then the case begins when its verdict is asked for."""
        self._see_to_it()
        if self._has_died_in_line:
            return False
        try:
            self.start()
        except UsageError:
            return False
        loading = self._put_loading(planned)
        message = VerifyCase(PlannedMessage.of(planned), by, seconds)
        begun = self._put(CaseRequest(planned, seconds, by), message, seconds + GRACE_SECONDS)
        begun.loading = loading
        self._line.append(begun)
        return True

    @property
    def _has_died_in_line(self) -> bool:
        """Has the process ended over what it was given? Its verdict is fetched before another process starts."""
        return bool(self._line) and not self._worker.is_alive

    @property
    def in_line(self) -> int:
        """The number of cases that have begun ahead, or will."""
        return len(self._settled) + len(self._line)

    @property
    def bell(self) -> int:
        """A descriptor that can be read when there is something for ``is_ready``; -1 if nothing will come."""
        return self._worker.bell if self._line else -1

    def is_ready(self, *, silent: bool = False) -> bool:
        """Would ``verify`` of the first in line return at once? ``silent``: nothing was heard for a while."""
        if self._settled or not self._line:
            return True
        return self._worker.hears(self._line[0].asked, silent=silent)

    def call(
        self, to: str, do: str, arguments: Mapping[str, Any], seconds: float, patience: Deadline | None = None
    ) -> Any:
        """Return what the method ``do`` of the guest ``module:class`` answers (server.py). WorkerDied if the process
        does not live to answer, or takes longer; it is replaced then."""
        self._settle()
        self._open()
        limit = seconds if patience is None else min(seconds, patience.seconds)

        def hear(note: Any) -> None:
            self._hear(note, patience=patience)

        try:
            asked = self._worker.put(CallGuest(to, do, dict(arguments)), limit, hear)
            if patience is not None:
                patience.begins(asked)
            answer = convert(self._worker.answer(asked), GuestAnswer)
        except WorkerDied as ended:
            if patience is not None:
                patience.is_over = ended.late
            self._forget()
            raise
        self._says(answer.launcher)
        if answer.died:
            raise WorkerDied(answer.died, hung=answer.hung)
        return answer.answer

    def _put(
        self,
        case: CaseRequest,
        message: VerifyCase,
        seconds: float,
        trace: Hear | None = None,
        patience: Deadline | None = None,
    ) -> _Begun:
        foreseen: dict[str, Any] = {}
        asked = self._worker.put(message, seconds, lambda note: self._hear(note, foreseen, trace, patience))
        return _Begun(case, asked, foreseen=foreseen)

    def _fetched(self, wanted: _Begun) -> Verdict | None:
        """Return the verdict on a case in line; None if its process ended before the case began. What was wrong with
        it is raised."""
        while wanted in self._line:
            self._take()
        if wanted in self._settled:
            self._settled.remove(wanted)
        if isinstance(wanted.verdict, Exception):
            raise wanted.verdict
        return wanted.verdict

    def _settle(self) -> None:
        """Wait for what began ahead, for those who ask for it later: another question comes first."""
        while self._line:
            self._take()

    def _take(self) -> None:
        """Wait for the verdict on the first case in line. There is none if its process ended before the case began."""
        begun = self._line.popleft()
        self._output.next_case()
        try:
            begun.verdict = self._answered(begun)
        except (UsageError, RuntimeError) as error:  # the judge's, or that the target cannot be opened
            begun.verdict = error
        if begun.verdict is not None:
            self._settled.append(begun)

    def _see_to_it(self) -> None:
        """Forget what was given to a process that was ended."""
        if not self._worker.is_open:
            self._forget()

    def _answered(self, begun: _Begun, patience: Deadline | None = None) -> Verdict | None:
        """Return the verdict; None if the process ended before the case began. UsageError if it cannot be opened."""
        planned, asked = begun.case.planned, begun.asked
        try:
            answer = convert(self._worker.answer(asked), CaseAnswer)
            verdict = from_event(answer.verdict)
            self._device_id = verdict.device_id
        except WorkerDied as ended:
            if patience is not None:
                patience.is_over = ended.late
            if ended.at is asked:
                self._forget()
                return self._died(planned, ended, asked.begun, begun.foreseen)
            self._forget()
            if ended.at_opening:
                raise self._does_not_start(ended) from None
            return None
        except (RecordError, KeyError, TypeError, ValidationError) as error:
            self.end()
            reason = f"its process answered with no verdict: {error}"
            return self._ended(planned, Outcome.CRASHED, reason, asked.begun)
        except RuntimeError as error:
            self._see_to_it()
            if not self._worker.is_open:  # it raised when it was opened
                raise
            reason = _format_raised(str(error))
            return found_wrong(begun.foreseen, reason) or self._ended(planned, Outcome.INFRA, reason, asked.begun)
        except BaseException:
            self._see_to_it()
            raise
        self._says(answer.launcher)
        return verdict

    def _says(self, launcher: int) -> None:
        self._replaced += launcher - self._launcher
        self._launcher = launcher

    def _died(self, planned: PlannedCase, ended: WorkerDied, started: float, foreseen: dict[str, Any]) -> Verdict:
        """Return the verdict on a case that its process died of. A result that was found wrong before remains so."""
        why = ended.reason.replace("no verdict within", "it did not end within")
        outcome = Outcome.INFRA if ended.out_of_memory else Outcome.HUNG if ended.hung else Outcome.CRASHED
        return found_wrong(foreseen, why) or self._ended(planned, outcome, ended.reason, started)

    def _open(self) -> None:
        """Wait for the process to be open. UsageError if it cannot be opened."""
        for is_last in (False, True):
            self.start()
            try:
                self._worker.opened()
                return
            except WorkerDied as ended:
                self._see_to_it()
                if is_last or ended.at is not self._early:  # what was done early ended it: it recurs where it matters
                    raise self._does_not_start(ended) from None
            except BaseException:
                self._see_to_it()
                raise

    def _does_not_start(self, ended: WorkerDied) -> UsageError:
        target = self.opening.target
        return UsageError(f"the process for kernels of {target} does not start: {ended.reason}: see bitgate doctor")

    def _load(self, planned: PlannedCase) -> None:
        """Wait for a case's library to be loaded, so that the case is not charged for it."""
        self._open()
        if (loading := self._put_loading(planned)) is None:
            return
        try:
            with suppress(UsageError, RuntimeError):  # the case itself says it again
                self._worker.answer(loading)
        except WorkerDied as ended:
            self._forget()
            raise self._does_not_start(ended) from None

    def _put_loading(self, planned: PlannedCase) -> Request | None:
        # Where an instance has a separate library, it is asked for by that; elsewhere asking again costs nothing.
        family, instance, _ = planned.kernel.names
        part = (family, instance, planned.raced)
        if part in self._loaded:
            return None
        asked = self._worker.put(LoadLibrary(*part), OPEN_SECONDS, self._hear)
        self._loaded.add(part)
        return asked

    def _hear(
        self,
        note: Any,
        foreseen: dict[str, Any] | None = None,
        trace: Hear | None = None,
        patience: Deadline | None = None,
    ) -> None:
        if not isinstance(note, dict):
            return
        if FORESEEN in note:
            if foreseen is not None and isinstance(note[FORESEEN], dict):
                foreseen.clear()
                foreseen.update(note[FORESEEN])
        elif STAGE in note:
            if patience is not None:
                patience.hears(str(note[STAGE]))
        elif "progress" in note:
            if self._progress is not None:
                self._progress(str(note["progress"]))
        elif trace is not None:
            trace(note)

    def _ended(self, planned: PlannedCase, outcome: Outcome, reason: str, started: float) -> Verdict:
        """Return the verdict on a case whose process gave none."""
        target = named(planned.target)
        places = [path.resolve().parent for path in self.opening.project.declarations]
        places += self.opening.suites or self.opening.project.shelves
        return verdict_on(
            planned,
            target,
            outcome,
            reason,
            device_id=self._device_id,
            seconds={"total": monotonic() - started},
            repro=repro_line(planned, self.opening.project.added),
            foreign=planned.foreign,
            fingerprint=fingerprint(target, places),
        )


def _format_raised(traceback: str) -> str:
    """Return the end of a child's traceback, which goes to stderr whole."""
    to_stderr(printable(traceback).encode())
    lines = traceback.strip().splitlines()
    place = next((line.strip() for line in reversed(lines) if line.lstrip().startswith('File "')), "")
    return f"its process raised {shown(lines[-1])} ({shown(place)})"


def found_wrong(foreseen: dict[str, Any], why: str) -> Verdict | None:
    """Return the verdict on a result that was found wrong before its diagnosis broke off; None if there is none."""
    if not foreseen:
        return None
    try:
        verdict = from_event(foreseen)
    except (RecordError, KeyError, TypeError):
        return None
    if verdict.outcome not in (Outcome.MISMATCH, Outcome.NONDETERMINISTIC):
        return None
    sentence = f"{verdict.reason}; what they have in common is not known, the diagnosis broke off: {why}"
    diagnosis = verdict.diagnosis and replace(verdict.diagnosis, sentence=sentence)
    return replace(verdict, reason=sentence, diagnosis=diagnosis)
