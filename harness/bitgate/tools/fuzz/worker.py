"""The process that draws cases and has them verified, in a child of its own where kernels run.

It reads jobs from stdin and answers on what was stdout, both pickled: no kernel and no owner's code comes near either.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, BinaryIO

from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.kernel.loading import with_operations
from bitgate.results.record import Verdict
from bitgate.tools.fuzz import exchange
from bitgate.tools.fuzz.failure import FuzzFailure, is_failure
from bitgate.tools.fuzz.lane import Lane, families_of, lanes
from bitgate.tools.fuzz.shrink import Shrinker
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.selection import candidates

TELL_SECONDS = 0.05
"""How often a worker tells what it has done, so that little is uncounted when it dies."""


@dataclass(frozen=True)
class CampaignSetting:
    """What all workers of a run share."""

    target: str
    kernel: str | None = None
    project: Project = field(default_factory=ours)
    seed: int = 0
    case_seconds: float = 60.0
    shrink_seconds: float = 60.0

    def lanes(self) -> tuple[Lane, ...]:
        """Every instance that the glob names; without one what is loaded, or all there are, references among them."""
        glob = self.kernel if self.kernel is not None or self.project.runs_on else "*"
        chosen = candidates(glob, {}, self.target, self.project)
        return lanes([(kernel.family, kernel.instance) for kernel in chosen])


@dataclass(frozen=True)
class RoundJob:
    """Cases ``start`` and on of round ``number``, until ``deadline`` (monotonic seconds)."""

    number: int
    start: int
    deadline: float


@dataclass(frozen=True)
class ShrinkJob:
    found: FuzzFailure
    seconds: float


@dataclass
class FuzzTally:
    """What was done: cases by outcome and by ``family.instance``."""

    problems: int = 0
    verdicts: int = 0
    compared: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    instances: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict, is_new: bool) -> None:
        self.problems += is_new
        self.verdicts += 1
        self.compared += verdict.compared
        self.outcomes[verdict.outcome.value] += 1
        if verdict.compared:
            self.instances[verdict.key.name] += 1

    def join(self, other: FuzzTally) -> None:
        self.problems += other.problems
        self.verdicts += other.verdicts
        self.compared += other.compared
        self.outcomes += other.outcomes
        self.instances += other.instances


@dataclass(frozen=True)
class RoundPart:
    """What was done of a round since the last part, and which case comes ``next``."""

    number: int
    next: int
    tally: FuzzTally


@dataclass(frozen=True)
class RoundDone:
    """``next_case``: where to go on if the deadline cut the round short, else None."""

    number: int
    next_case: int | None
    tally: FuzzTally


def lane_of(turn: tuple[Lane, ...], number: int) -> tuple[Lane, int]:
    """Whose round it is, and the how manieth of that lane."""
    lane = turn[number % len(turn)]
    own = [index for index, other in enumerate(turn) if other is lane]
    return lane, number // len(turn) * len(own) + own.index(number % len(turn))


class Worker:
    """The working side. ``send`` takes an answer to the other side."""

    def __init__(self, setting: CampaignSetting, answers: BinaryIO) -> None:
        self._setting = setting
        self._answers = answers
        self._process = CaseProcess(Opening(setting.target, setting.project, repeats_all=False), progress=_to_stderr)
        with_operations(setting.project)
        self._turn = setting.lanes()
        self.families = families_of(self._turn)

    def end(self) -> None:
        self._process.end()

    def send(self, answer: object) -> None:
        exchange.answer(answer, self._answers)

    def round(self, job: RoundJob) -> RoundDone:
        lane, visit = lane_of(self._turn, job.number)
        tally, last, reported = FuzzTally(), None, 0.0
        for index, planned in enumerate(lane.cases(self._setting.seed, visit, self._setting.target)):
            if index < job.start:
                continue
            if monotonic() >= job.deadline:
                return RoundDone(job.number, index, tally)
            try:
                verdict = self._process.verify(planned, self._setting.case_seconds)
            except UsageError as error:
                raise UsageError(f"{planned.case} on {planned.kernel.name}, fill {planned.fill}: {error}") from None
            tally.add(verdict, planned.problem is not last)
            last = planned.problem
            if monotonic() - reported > TELL_SECONDS:
                self.send(RoundPart(job.number, index + 1, tally))
                tally, reported = FuzzTally(), monotonic()
            if is_failure(verdict):
                self.send(FuzzFailure(planned, verdict, monotonic(), lane.name, visit))
        return RoundDone(job.number, None, tally)

    def shrink(self, job: ShrinkJob) -> Any:
        return Shrinker(self._verdict, job.found, job.seconds).run()

    def _verdict(self, planned: PlannedCase) -> Verdict:
        return self._process.verify(planned, self._setting.case_seconds / 2)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the other side's business, which then ends this one
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    setting = exchange.read(sys.stdin.buffer, {})
    worker: Worker | None = None
    try:
        worker = Worker(setting, answers)
        worker.send("ready")
        while True:
            job = exchange.read(sys.stdin.buffer, worker.families)
            worker.send(worker.round(job) if isinstance(job, RoundJob) else worker.shrink(job))
    except EOFError:
        return
    except UsageError as error:
        exchange.answer(UsageError(str(error)), answers)
    except Exception:
        # No kernel's doing: a case that Python itself cannot do must not pass for a crash of the kernel.
        exchange.answer(RuntimeError(traceback.format_exc()), answers)
    finally:
        if worker is not None:
            worker.end()
