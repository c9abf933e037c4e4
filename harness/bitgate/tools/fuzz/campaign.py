"""A fuzzing run: workers go through rounds until time is up; the first failure of each kind is shrunk."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.kernel.build.builder import Builder
from bitgate.runtime.targets import named
from bitgate.tools.fuzz import exchange
from bitgate.tools.fuzz.failure import FuzzFailure, ShrunkFailure, write_rows
from bitgate.tools.fuzz.lane import families_of
from bitgate.tools.fuzz.state import CampaignState
from bitgate.tools.fuzz.worker import CampaignSetting, RoundDone, RoundJob, RoundPart, ShrinkJob

POLL_SECONDS = 0.25
SAVE_SECONDS = 5.0
CHUNK_BYTES = 1 << 16

Report = Callable[[str], None]


@dataclass
class _Child:
    """A worker process as its owner sees it."""

    process: subprocess.Popen[bytes]
    job: RoundJob | ShrinkJob | None = None
    next_case: int = 0
    is_ready: bool = False
    inbox: bytearray = field(default_factory=bytearray)

    def give(self, job: RoundJob | ShrinkJob) -> None:
        self.job = job
        self.next_case = job.start if isinstance(job, RoundJob) else 0
        assert self.process.stdin is not None
        exchange.write(job, self.process.stdin)

    def end(self) -> None:
        """Kill the worker; the kernel ends its child with it, as the worker has requested."""
        self.process.kill()
        self.process.wait()


class Campaign:
    """A fuzzing campaign: ``run`` fills ``state``.

    ``failed`` receives each shrunk failure, ``progress`` a line now and then.
    """

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
        self._families = families_of(setting.lanes())
        self._children: list[_Child] = []
        self._selector = selectors.DefaultSelector()
        self._to_shrink: list[ShrinkJob] = []
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
            while self._is_busy(end):
                self._hand_out(end)
                self._listen()
                self.state.seconds = before + min(monotonic() - self._begin, seconds)
                self._save(now=False)
        finally:
            for child in self._children:
                self._put_back(child)
                child.end()
            self._save(now=True)

    def _is_busy(self, end: float) -> bool:
        running = any(child.job for child in self._children)
        return bool(self._to_shrink) or running or (monotonic() < end and not self._is_done)

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
        self._children = [self._spawn() for _ in range(self._workers)]
        for child in self._children:
            while not child.is_ready:
                self._receive(child)

    def _spawn(self) -> _Child:
        environment = dict(os.environ)
        if self._workers > 1:
            environment["BITGATE_THREADS"] = "1"
        process = subprocess.Popen(
            [sys.executable, "-c", "from bitgate.tools.fuzz.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        child = _Child(process)
        exchange.write(self.setting, process.stdin)
        self._selector.register(process.stdout, selectors.EVENT_READ, child)
        return child

    def _hand_out(self, end: float) -> None:
        for child in self._children:
            if child.job is not None or not child.is_ready:
                continue
            if self._to_shrink:
                child.give(self._to_shrink.pop(0))
            elif monotonic() < end and not self._is_done:
                number, start = self.state.take_round()
                child.give(RoundJob(number, start, end))

    def _listen(self) -> None:
        for key, _ in self._selector.select(POLL_SECONDS):
            self._receive(key.data)

    def _receive(self, child: _Child) -> None:
        """Receive all that has arrived: data left in a buffer would be invisible to the selector."""
        assert child.process.stdout is not None
        data = os.read(child.process.stdout.fileno(), CHUNK_BYTES)
        if not data:
            # A kernel cannot cause this: it runs in a child of the worker.
            raise UsageError(f"a worker ended with {child.process.wait()}; what is known is in {self.folder}")
        child.inbox += data
        for answer in exchange.complete(child.inbox, self._families):
            self._take(child, answer)

    def _take(self, child: _Child, answer: object) -> None:
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, FuzzFailure):
            self._found(replace(answer, seconds=answer.seconds - self._begin))
        elif isinstance(answer, RoundPart):
            child.next_case = answer.next
            self.state.tally.join(answer.tally)
        elif isinstance(answer, RoundDone):
            child.job = None
            self.state.tally.join(answer.tally)
            if answer.next_case is not None:
                self.state.unfinished[answer.number] = answer.next_case
        elif isinstance(answer, ShrunkFailure):
            child.job = None
            self._note(answer)
        else:
            child.is_ready = True

    def _put_back(self, child: _Child) -> None:
        """Keep an unfinished round, from the first case that its worker has not reported."""
        if isinstance(child.job, RoundJob):
            self.state.unfinished[child.job.number] = child.next_case

    # ---- failures

    def _found(self, found: FuzzFailure) -> None:
        seen = self._known.get(found.signature, 0)
        self._known[found.signature] = seen + 1
        if seen:
            return
        self._progress(f"{found.verdict.outcome}: {found.verdict.repro}; shrinking it")
        self._to_shrink.append(ShrinkJob(found, self.setting.shrink_seconds))

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
    """Return one worker a core on the host, elsewhere one for the device."""
    return paths.threads() if named(target).platform == "host" else 1
