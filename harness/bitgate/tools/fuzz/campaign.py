"""A fuzzing run: workers go through rounds until time is up; the first failure of each kind is shrunk."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import monotonic

from msgspec import convert

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.progress import progress_bar
from bitgate.kernel.build.builder import Builder
from bitgate.runtime.targets import named
from bitgate.tools.fuzz.failure import FuzzFailure, ShrunkFailure, write_rows
from bitgate.tools.fuzz.round import families_of
from bitgate.tools.fuzz.server import (
    ENTRY,
    CampaignSetting,
    RedCaseMessage,
    RoundDone,
    RoundPart,
    RunRound,
    ShrinkCase,
    ShrunkCase,
)
from bitgate.tools.fuzz.state import CampaignState
from bitgate.verify.output_limit import to_stderr
from bitgate.worker.pool import WorkerPool
from bitgate.worker.worker import Request, Worker, WorkerDied

POLL_SECONDS = 0.25
SAVE_SECONDS = 5.0

Report = Callable[[str], None]


@dataclass(eq=False)
class FuzzJob:
    """A round or a shrink as a job of the pool; ``hear`` receives a round's parts, ``next_case`` is the first that
    they do not report."""

    question: RunRound | ShrinkCase
    hear: Callable[[FuzzJob, RoundPart], None]
    found: FuzzFailure | None = None
    next_case: int = 0
    asked: Request | None = None

    def give(self, worker: Worker) -> bool:
        self.asked = worker.put(self.question, inf, lambda note: self.hear(self, convert(note, RoundPart)))
        return True

    def is_lost(self, worker: Worker) -> bool:
        return False  # kernels cannot end it, they run in a child of the worker: whatever does ends the campaign

    def hears(self, worker: Worker, silent: bool) -> bool:
        assert self.asked is not None
        return worker.hears(self.asked, silent=silent)

    def take(self, worker: Worker) -> RoundDone | ShrunkCase:
        assert self.asked is not None
        said = worker.answer(self.asked)
        return convert(said, RoundDone) if isinstance(self.question, RunRound) else convert(said, ShrunkCase)


class Campaign:
    """A campaign: ``run`` fills ``state``, ``failed`` gets each shrunk failure, ``progress`` a line at times."""

    def __init__(
        self,
        setting: CampaignSetting,
        state: CampaignState,
        folder: Path,
        *,
        workers: int,
        first_only: bool,
        failed: Callable[[ShrunkFailure], None],
        progress: Report,
    ) -> None:
        self.setting, self.state, self.folder = setting, state, folder
        self._workers, self._first_only = workers, first_only
        self._failed, self._progress = failed, progress
        self._families = families_of(setting.subjects())
        self._pool = WorkerPool[Worker, FuzzJob]([])
        self._to_shrink: deque[FuzzFailure] = deque()
        self._known: dict[tuple[str, str, str], int] = {}
        self._shrunk: list[ShrunkFailure] = []
        self._begin = self._saved = 0.0

    def run(self, seconds: float) -> None:
        """Fuzz for ``seconds`` after the kernels are built; failures found by then are shrunk in any case.

        All results are on disk at any time, also after an interrupt. Raises UsageError if a kernel does not build.
        """
        before = self.state.seconds
        try:
            self._start()
            self._begin = self._saved = monotonic()
            end = self._begin + seconds
            with progress_bar("fuzz", seconds) as bar:
                while self._is_busy(end):
                    while self._pool.has_room and (job := self._next_job(end)) is not None:
                        self._pool.submit(job)
                    if (done := self._pool.next(POLL_SECONDS)) is not None:
                        self._take(*done)
                    self.state.seconds = before + min(monotonic() - self._begin, seconds)
                    bar.reach(self.state.seconds - before, f"{self.state.tally.verdicts} verdicts")
                    self._save(now=False)
        except WorkerDied as ended:
            raise UsageError(f"a worker ended: {ended.reason}; what is known is in {self.folder}") from None
        finally:
            for job in self._pool.under_way:  # a round goes on at the first case that was not reported
                self._put_back(job, job.next_case)
            self._pool.end()
            self._save(now=True)

    def _is_busy(self, end: float) -> bool:
        return bool(self._to_shrink or self._pool.under_way) or (monotonic() < end and not self._is_done)

    @property
    def _is_done(self) -> bool:
        return self._first_only and bool(self._known)

    # ---- workers

    def _start(self) -> None:
        """Build missing kernels with all cores, before the workers start."""
        target = named(self.setting.target)
        builder = Builder(target.platform, self._progress, arch=None if target.platform == "host" else target.name)
        families = [family for family in self._families.values() if family.is_built]
        builder.ahead(families)
        builder.runtime()
        builder.native()
        for family in families:
            builder.family(family)
        environment = {**os.environ, "BITGATE_THREADS": "1"} if self._workers > 1 else None
        opening = self.setting.message()
        workers = [
            Worker(ENTRY, to_stderr, opening=opening, opening_seconds=inf, environment=environment)
            for _ in range(self._workers)
        ]
        self._pool = WorkerPool(workers)
        for worker in workers:
            worker.begin()
        for worker in workers:
            worker.opened()

    def _next_job(self, end: float) -> FuzzJob | None:
        if self._to_shrink:
            found = self._to_shrink.popleft()
            return FuzzJob(ShrinkCase(RedCaseMessage.of(found), self.setting.shrink_seconds), self._hear, found)
        if monotonic() < end and not self._is_done:
            number, start = self.state.take_round()
            return FuzzJob(RunRound(number, start, end), self._hear, next_case=start)
        return None

    def _hear(self, job: FuzzJob, part: RoundPart) -> None:
        job.next_case = part.next
        self.state.tally.join(part.tally)
        if part.found is not None:
            found = part.found.failure(self._families)
            self._found(replace(found, seconds=found.seconds - self._begin))

    def _take(self, job: FuzzJob, answer: RoundDone | ShrunkCase) -> None:
        if isinstance(answer, RoundDone):
            self.state.tally.join(answer.tally)
            self._put_back(job, answer.next_case)
        else:
            assert job.found is not None
            self._note(answer.failure(job.found, self._families))

    def _put_back(self, job: FuzzJob, next_case: int | None) -> None:
        if isinstance(job.question, RunRound) and next_case is not None:
            self.state.unfinished[job.question.number] = next_case

    # ---- failures

    def _found(self, found: FuzzFailure) -> None:
        seen = self._known.get(found.signature, 0)
        self._known[found.signature] = seen + 1
        if seen:
            return
        self._progress(f"{found.verdict.outcome}: {found.verdict.repro}; shrinking it")
        self._to_shrink.append(found)

    def _note(self, shrunk: ShrunkFailure) -> None:
        same = [known for known in self._shrunk if known.planned == shrunk.planned]
        if not same:
            self._shrunk.append(shrunk)
            self.state.failures.append(shrunk.as_json())
            self._failed(shrunk)
        self._save(now=True)

    def _save(self, now: bool) -> None:
        if not now and monotonic() - self._saved < SAVE_SECONDS:
            return
        self._saved = monotonic()
        tally = self.state.tally
        if self._begin and not now:
            self._progress(
                f"{self.state.seconds:.0f} s: {tally.problems} problems, {tally.verdicts} verdicts,"
                f" {sum(self._known.values())} red, {len(self._shrunk)} failures"
            )
        self.state.write(self.folder / "state.json")
        if self.state.failures:
            counted = [replace(s, like_it=self._known[s.found.signature] - 1) for s in self._shrunk]
            write_rows(self.folder / "failures.toml", counted)


def default_workers(target: str) -> int:
    """Return the number of workers: on the host one a core, elsewhere one for the device."""
    return paths.threads() if named(target).platform == "host" else 1
