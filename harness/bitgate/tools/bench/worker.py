"""One contender on one problem, as the parent sees it: verified and timed in its side's process, which it may lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil, inf
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.results.record import Outcome, Verdict
from bitgate.results.record.timing import Timing, TimingStatus
from bitgate.runtime.targets import named
from bitgate.tools.bench.arm import Candidate, TimedShape
from bitgate.tools.bench.settings import Settings
from bitgate.tools.bench.timer import GUEST
from bitgate.verify.deadline import Deadline
from bitgate.verify.launcher_worker import OPEN_SECONDS
from bitgate.verify.planned import PlannedCase, PlannedMessage
from bitgate.verify.process import TIME_LIMIT, CaseProcess
from bitgate.worker.worker import WorkerDied

LONGER = 4.0
"""A sample takes at most so many times as long as it should, of kernels far slower than the fastest."""

SAMPLE_SECONDS = 60.0
"""That a sample may take beside what it took before."""

FIRST_BUILDS_SECONDS = 300.0
"""That a process' first verification may take beyond its budget: it builds what references and comparisons need."""

LAUNCH_SECONDS = 30.0
SLOWEST_FLOPS = {"host": 1e8}
SLOWEST_FLOPS_ON_GPU = 1e10
"""A launch that takes longer than so many seconds, and its arithmetic in addition at so many FLOP/s, hangs."""

MOST_LAUNCH_SECONDS = 60.0
"""That a launch is waited for when the budget is over, to see whether it hangs."""


@dataclass(eq=False)
class CandidateRun:
    """A candidate on one shape; ``status`` is None until it fails or is left out."""

    contender: Candidate
    shape: TimedShape
    planned: PlannedCase
    process: CaseProcess
    settings: Settings
    status: TimingStatus | None = None
    reason: str = ""
    verdict: Verdict | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    host_seconds: list[float] = field(default_factory=list)
    unqueued: int = 0
    """Samples whose first launch did not wait for the last one, though it should have."""
    patience: Deadline = field(default_factory=lambda: Deadline(TIME_LIMIT))
    """With what it was asked last."""
    batch: int = 0
    """Launches of a sample; 0: as its own warm-up found."""
    _number: int = -1
    _process_number: int = -1

    @property
    def cost(self) -> float:
        """Seconds that a sample takes."""
        return float(self.facts.get("seconds", 0.0)) * (
            self.batch or int(self.facts.get("settings", {}).get("batch", 1))
        )

    @property
    def doing(self) -> str:
        """Its stage."""
        return self.patience.stage

    def _waits(self, seconds: float) -> Deadline:
        """Return the deadline within the budget. In that time a kernel far slower than any useful one cannot be
        distinguished from one that hangs."""
        flops = SLOWEST_FLOPS.get(named(self.planned.target).platform, SLOWEST_FLOPS_ON_GPU)
        launch = LAUNCH_SECONDS + self.planned.problem.flops / flops
        self.patience = Deadline(seconds, launch, min(launch, MOST_LAUNCH_SECONDS))
        return self.patience

    def verify(self, left: float) -> None:
        """Verify the candidate as any case: what does not pass is not timed. ``left``: seconds of the budget."""
        patience = self._waits(left)
        try:
            verdict = self.process.verify(self.planned, TIME_LIMIT, patience=patience)
        except UsageError as error:  # another commit may not know the option, or the problem
            self._end(TimingStatus.REFUSED, str(error))
            return
        if verdict.outcome is Outcome.HUNG and patience.is_over:
            if patience.hangs:
                verdict = replace(verdict, reason=f"it has not ended after {patience.for_seconds:.0f} s")
            elif left < TIME_LIMIT:
                self._out_of_time()
                return
        self.verdict = verdict
        if verdict.outcome is Outcome.REFUSED:
            self._end(TimingStatus.REFUSED, verdict.reason)
        elif verdict.outcome is not Outcome.PASS or not verdict.compared:
            self._end(TimingStatus.NOT_VERIFIED, verdict.reason or "nothing was compared")

    def open(self, left: float = TIME_LIMIT) -> None:
        """Buffers, the first launches one by one, the warm-up. ``left`` as of ``verify``."""
        arguments = {
            "planned": PlannedMessage.of(self.planned),
            "settings": asdict(self.settings),
            "digest": _whole_digest(self.verdict, len(self.shape.problem.outputs)) if self.verdict else "",
        }
        answer = self._ask("open", arguments, TIME_LIMIT, self._waits(left))
        if answer is not None:
            self._number, self._process_number = answer["number"], self.process.number
            self.facts = answer

    def sample(self) -> float | None:
        """Seconds a launch. A process that another contender has ended is another now: everything is set up anew."""
        if self._process_number != self.process.number:
            self.open()
        if self.status is not None:
            return None
        answer = self._ask("sample", {"number": self._number, "batch": self.batch}, SAMPLE_SECONDS + 20 * self.cost)
        if answer is None:
            return None
        if not 0 < answer["seconds"] < inf:
            self._end(
                TimingStatus.FAILED, f"its clock says {answer['seconds']:g} s a launch: nothing can be said of that"
            )
            return None
        self.host_seconds.append(answer["host_seconds"])
        self.unqueued += self.settings.queued and not answer["queued"]
        return float(answer["seconds"])

    def is_of_today(self, row: Timing) -> bool:
        """Was a row of an earlier run measured of the very kernel that is built now?"""
        if "build" not in row.fingerprint:  # nothing was launched
            return True
        try:
            build = self.process.call(GUEST, "build", {"planned": PlannedMessage.of(self.planned)}, OPEN_SECONDS)
        except (WorkerDied, UsageError, RuntimeError):  # verified anew, it says so itself
            return False
        return bool(row.fingerprint["build"] == build)

    def finish(self) -> None:
        """Compare the result once more."""
        if self.status is None and self._process_number == self.process.number:
            self._ask("finish", {"number": self._number}, SAMPLE_SECONDS + 20 * self.cost)

    def _ask(
        self, do: str, arguments: dict[str, Any], seconds: float, patience: Deadline | None = None
    ) -> dict[str, Any] | None:
        """Return the answer; None if the candidate is out, and ``status`` says why."""
        try:
            answer: dict[str, Any] = self.process.call(GUEST, do, arguments, seconds, patience)
        except WorkerDied as ended:
            if patience is not None and patience.is_over and patience.seconds < seconds and not patience.hangs:
                self._out_of_time()
            else:
                self._end(TimingStatus.FAILED, ended.reason)
            return None
        except UsageError as error:
            self._end(TimingStatus.NOT_VERIFIED, str(error))
            return None
        for name, status in _OUT.items():
            if name in answer:
                self._end(status, answer[name])
                break
        else:
            return answer
        self.process.end()  # its buffers are others', too; and after a fault a device may give errors for ever
        return None

    def _out_of_time(self) -> None:
        doing = self.doing or "on its way to the device"
        reason = f"the {self.settings.budget:g} s of the shape were up while it was {doing}"
        self._end(TimingStatus.OVER_BUDGET, reason)

    def _end(self, status: TimingStatus, reason: str) -> None:
        self.status, self.reason = status, reason


_OUT = {"wrong": TimingStatus.NOT_VERIFIED, "failed": TimingStatus.FAILED, "short": TimingStatus.REFUSED}
"""Answers that end a contender, and as what."""


def share_batch(entrants: Sequence[CandidateRun]) -> None:
    """Samples of as many launches for all that take about as long. What a sample costs beside its launches is shared
    out among these, and a long one is put aside more often than a short one: of kernels alike the one whose warm-up was
    disturbed, with fewer launches a sample, would be another than it is."""
    fastest = [float(one.facts["fastest"]) for one in entrants]
    most = min((int(one.facts["most"]) for one in entrants), default=1)
    for one, own in zip(entrants, fastest, strict=True):
        wanted = min(1 / min(fastest), LONGER / own) * one.settings.batch_seconds
        one.batch = max(1, min(most, ceil(wanted)))


def _whole_digest(verdict: Verdict, outputs: int) -> str:
    """Return the digest, if it covers all outputs and all that they are held to."""
    holds = verdict.certificate is not None and verdict.certificate.holds
    is_whole = outputs == 1 or verdict.digest.count("=") == outputs
    return verdict.digest if holds and is_whole else ""
