"""The child that draws cases and has them verified, in a separate child where kernels run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from msgspec import Struct, to_builtins

from bitgate.core.errors import UsageError
from bitgate.core.progress import print_progress
from bitgate.core.project import Project, ours
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.loading import with_operations
from bitgate.results.record import Verdict, from_event, to_event
from bitgate.tools.fuzz.failure import FuzzFailure, Neighbour, ShrunkFailure, is_failure
from bitgate.tools.fuzz.round import FuzzSubject, families_of, subject_of, subjects
from bitgate.tools.fuzz.shrink import Shrinker
from bitgate.verify.planned import PlannedCase, PlannedMessage
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.selection import candidates
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.serving import Message

ENTRY = f"{__name__}:serve"

TELL_SECONDS = 0.05
"""Interval of reports, so that little is uncounted when the child dies."""

Families = Mapping[str, KernelFamily]


@dataclass(frozen=True)
class CampaignSetting:
    """The settings that all workers of a run share."""

    target: str
    kernel: str | None = None
    project: Project = field(default_factory=ours)
    seed: int = 0
    case_seconds: float = 60.0
    shrink_seconds: float = 60.0

    def subjects(self) -> tuple[FuzzSubject, ...]:
        """Return every instance that the glob names; without one what is loaded, or all there are, references among
        them."""
        glob = self.kernel if self.kernel is not None or self.project.runs_on else "*"
        chosen = candidates(glob, {}, self.target, self.project)
        return subjects([(kernel.family, kernel.instance) for kernel in chosen])

    def message(self) -> OpenFuzzer:
        return OpenFuzzer(**{**vars(self), "project": self.project.as_json()})


class OpenFuzzer(Message):
    """The opening: a CampaignSetting."""

    target: str
    kernel: str | None
    project: dict[str, Any]
    seed: int
    case_seconds: float
    shrink_seconds: float


class FuzzTally(Struct, forbid_unknown_fields=True):
    """A count of cases, by outcome and by ``family.instance``."""

    problems: int = 0
    verdicts: int = 0
    compared: int = 0
    outcomes: dict[str, int] = {}
    instances: dict[str, int] = {}

    def add(self, verdict: Verdict, is_new: bool) -> None:
        instances = {verdict.key.name: 1} if verdict.compared else {}
        self.join(FuzzTally(is_new, 1, verdict.compared, {verdict.outcome.value: 1}, instances))

    def join(self, other: FuzzTally) -> None:
        self.problems += other.problems
        self.verdicts += other.verdicts
        self.compared += other.compared
        for mine, more in ((self.outcomes, other.outcomes), (self.instances, other.instances)):
            for name, count in more.items():
                mine[name] = mine.get(name, 0) + count


class RunRound(Message):
    """A question for cases ``start`` and on of round ``number``, until ``deadline`` (monotonic seconds)."""

    number: int
    start: int
    deadline: float


class RoundDone(Struct):
    """The end of a round; ``next_case``: where to go on if the deadline cut it short, else None."""

    next_case: int | None
    tally: FuzzTally


class RedCaseMessage(Struct):
    """A FuzzFailure between processes."""

    planned: PlannedMessage
    verdict: dict[str, Any]
    seconds: float
    lane: str
    visit: int

    @classmethod
    def of(cls, found: FuzzFailure) -> RedCaseMessage:
        return cls(PlannedMessage.of(found.planned), to_event(found.verdict), found.seconds, found.lane, found.visit)

    def failure(self, families: Families) -> FuzzFailure:
        planned = self.planned.planned(families)
        return FuzzFailure(planned, from_event(self.verdict), self.seconds, self.lane, self.visit)


class RoundPart(Struct):
    """A note on a round: what was done of it since the last one, which case comes ``next``, and what was found."""

    next: int
    tally: FuzzTally
    found: RedCaseMessage | None = None


class ShrinkCase(Message):
    """A question for the smallest case that fails as ``found`` does."""

    found: RedCaseMessage
    seconds: float


class ShrunkCase(Struct):
    """A ShrunkFailure between processes, but for the failure that was found; neighbours are of a quantity, its failing
    and its passing value, a distance and a case."""

    planned: PlannedMessage
    verdict: dict[str, Any]
    neighbours: list[tuple[str, str, str, float, PlannedMessage]]
    minimal: bool
    tried: int
    seconds: float

    @classmethod
    def of(cls, one: ShrunkFailure) -> ShrunkCase:
        near = [(n.quantity, n.fails, n.passes, n.distance, PlannedMessage.of(n.planned)) for n in one.neighbours]
        return cls(PlannedMessage.of(one.planned), to_event(one.verdict), near, one.minimal, one.tried, one.seconds)

    def failure(self, found: FuzzFailure, families: Families) -> ShrunkFailure:
        near = tuple(
            Neighbour(quantity, fails, passes, distance, other.planned(families))
            for quantity, fails, passes, distance, other in self.neighbours
        )
        planned, verdict = self.planned.planned(families), from_event(self.verdict)
        return ShrunkFailure(found, planned, verdict, near, self.minimal, self.tried, self.seconds)


class Fuzzer:
    """The child's side of a campaign."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def open(self, opening: OpenFuzzer) -> None:
        project = Project.from_json(opening.project)
        with_operations(project)
        self._setting = opening
        self._turn = CampaignSetting(opening.target, opening.kernel, project).subjects()
        self._families = families_of(self._turn)
        self._process = CaseProcess(Opening(opening.target, project, repeats_all=False), progress=print_progress)

    def round(self, job: RunRound) -> RoundDone:
        subject, visit = subject_of(self._turn, job.number)
        tally, last, reported = FuzzTally(), None, 0.0
        for index, planned in enumerate(subject.cases(self._setting.seed, visit, self._setting.target)):
            if index < job.start:
                continue
            if monotonic() >= job.deadline:
                return RoundDone(index, tally)
            try:
                verdict = self._process.verify(planned, self._setting.case_seconds)
            except UsageError as error:
                raise UsageError(f"{planned.case} on {planned.kernel.name}, fill {planned.fill}: {error}") from None
            tally.add(verdict, planned.problem is not last)
            last = planned.problem
            found = None
            if is_failure(verdict):
                found = RedCaseMessage.of(FuzzFailure(planned, verdict, monotonic(), subject.name, visit))
            if found is not None or monotonic() - reported > TELL_SECONDS:
                self._channel.note(to_builtins(RoundPart(index + 1, tally, found)))
                tally, reported = FuzzTally(), monotonic()
        return RoundDone(None, tally)

    def shrink(self, job: ShrinkCase) -> ShrunkCase:
        found = job.found.failure(self._families)
        return ShrunkCase.of(Shrinker(self._verdict, found, job.seconds).run())

    def _verdict(self, planned: PlannedCase) -> Verdict:
        return self._process.verify(planned, self._setting.case_seconds / 2)


def serve(channel: Channel) -> None:
    """Answer for one campaign."""
    fuzzer = Fuzzer(channel)
    serving.serve(channel, {OpenFuzzer: fuzzer.open, RunRound: fuzzer.round, ShrinkCase: fuzzer.shrink})
