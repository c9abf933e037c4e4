"""Processes whose libraries hold switched mutants, and jobs in them that ask for one verdict after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.kernel.build import overlay as overlays
from bitgate.results.record import Outcome, Verdict
from bitgate.runtime.targets import platform_of
from bitgate.tools.faults.mutation.switch import GUEST, OFF
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, CaseRequest, Opening
from bitgate.worker.child import Output
from bitgate.worker.pool import AGAIN, JobState, WorkerPool
from bitgate.worker.worker import WorkerDied

SWITCH_SECONDS = 300.0
"""Limit for a turn of the switch; the first one loads the library."""

NOTHING: Mapping[str, Path] = {}

BROKEN = (Outcome.CRASHED, Outcome.INFRA, Outcome.CORRUPTED, Outcome.HUNG)
"""Outcomes after which a GPU's context may give errors for ever."""

Answer = TypeVar("Answer")
Steps = Generator[CaseRequest, Verdict, Answer]
"""Asks for verdicts one by one, and returns what they come to."""


class SwitchedProcess(CaseProcess):
    """A process of kernels with a switch for mutants, which knows those that it has run."""

    def __init__(self, opening: Opening, *, progress: Callable[[str], None], output: Output) -> None:
        super().__init__(opening, progress=progress, output=output)
        self._used = 0
        """The number of the process that mutants have run in."""
        self._mutants: set[int] = set()

    def turn(self, planned: PlannedCase, to: int) -> None:
        """Turn the switch before a case. A process that died over it, or whose device refuses, is replaced and asked
        again."""
        try:
            error = self._turned(planned, to)
        except WorkerDied:
            error = self._turned(planned, to)
        if error:
            self.end()
            error = self._turned(planned, to)
        if error:
            raise UsageError(f"the switch of mutants cannot be turned on {self.opening.target}: HIP error {error}")
        if self.number != self._used:
            self._used, self._mutants = self.number, set()
        if to > OFF:
            self._mutants.add(to)

    def reached(self, planned: PlannedCase) -> list[int]:
        """Return the mutants that the last case has reached. UsageError if the process ended with no mutant on."""
        family, instance, _ = planned.kernel.names
        try:
            answer: list[int] = self._ask("reached", family=family, instance=instance)
        except WorkerDied as ended:
            raise UsageError(f"the process of kernels ended with no mutant on: {ended.reason}") from None
        return answer

    def end_if_broken(self, verdict: Verdict) -> None:
        """End the process if a case may have broken its GPU: the switch of another one is turned anew."""
        if verdict.outcome in BROKEN and platform_of(self.opening.target) != "host":
            self.end()

    @property
    def is_shared(self) -> bool:
        """Has the process run other mutants, which may have left something there?"""
        return len(self._mutants) > 1

    def _turned(self, planned: PlannedCase, to: int) -> int:
        family, instance, _ = planned.kernel.names
        return int(self._ask("turn", family=family, instance=instance, to=to))

    def _ask(self, do: str, **arguments: object) -> Any:
        return self.call(GUEST, do, arguments, SWITCH_SECONDS)


class SwitchJob(Generic[Answer]):
    """A job of the pool whose steps ask for one verdict after the other, in one process."""

    def __init__(self, begin: Callable[[SwitchedProcess], Steps[Answer]]) -> None:
        self._begin = begin
        self._steps: Steps[Answer] | None = None
        self._question: CaseRequest | None = None
        self._answers: list[Answer] = []

    def give(self, process: SwitchedProcess) -> bool:
        self._steps = self._begin(process)
        return self._goes_on(process, None)

    def is_lost(self, process: SwitchedProcess) -> bool:
        return False  # ``verify`` asks again

    def hears(self, process: SwitchedProcess, silent: bool) -> bool:
        return process.is_ready(silent=silent)

    def take(self, process: SwitchedProcess) -> Answer | JobState:
        if (question := self._question) is not None:
            verdict = process.verify(question.planned, question.seconds, by=question.by)
            process.end_if_broken(verdict)
            if self._goes_on(process, verdict):
                return AGAIN
        return self._answers[0]

    def _goes_on(self, process: SwitchedProcess, verdict: Verdict | None) -> bool:
        """Let the process begin with the next case; False if there is none."""
        assert self._steps is not None
        try:
            self._question = next(self._steps) if verdict is None else self._steps.send(verdict)
        except StopIteration as end:
            self._question = None
            self._answers.append(end.value)
            return False
        process.ahead(self._question.planned, self._question.seconds, by=self._question.by)
        return True


Pool = WorkerPool[SwitchedProcess, SwitchJob[Any]]


@contextmanager
def open_pool(
    opening: Opening, count: int, say: Callable[[str], None], family: str = "", overlay: Mapping[str, Path] = NOTHING
) -> Iterator[Pool]:
    """Open ``count`` processes. With an ``overlay``, of one family, they build as for seeded defects, so that they find
    what was built before."""
    environment = {**os.environ, "BITGATE_THREADS": str(max(1, paths.threads() // count))}
    if overlay:
        environment |= {overlays.QUICK: "1", overlays.FAMILY: family}
    own = replace(opening, overlay=overlay, environment=environment)
    # What mutants print is of no use.
    with Pool([SwitchedProcess(own, progress=say, output=lambda data: None) for _ in range(count)]) as pool:
        yield pool


def drive(pool: Pool, jobs: Iterable[Callable[[SwitchedProcess], Steps[Answer]]]) -> Iterator[Answer]:
    """Yield what each job comes to, as they end."""
    for job in jobs:
        pool.submit(SwitchJob(job))
    while (done := pool.next()) is not None:
        yield done[1]
