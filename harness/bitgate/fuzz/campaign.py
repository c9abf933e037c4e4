"""A fuzzing run: workers go through rounds until time is up; the first failure of each kind is shrunk."""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic, time

from bitgate import rooms
from bitgate.build.builder import Builder
from bitgate.device.targets import named
from bitgate.errors import UsageError
from bitgate.fuzz.failure import Found, Shrunk, ends_process, write_rows
from bitgate.fuzz.state import State
from bitgate.fuzz.worker import Position, RoundDone, RoundJob, Setting, ShrinkJob, Tally, complete, lane_of
from bitgate.problem import human
from bitgate.record import Outcome, Verdict
from bitgate.verify.planned import PlannedCase
from bitgate.verify.repro import repro_line

POLL_SECONDS = 0.25
SAVE_SECONDS = 5.0
CHUNK_BYTES = 1 << 16

Report = Callable[[str], None]


@dataclass
class _Child:
    """A worker process as its owner sees it."""

    process: subprocess.Popen[bytes]
    position: Position
    job: RoundJob | ShrinkJob | None = None
    seen: int = -1
    since: float = 0.0
    is_ready: bool = False
    inbox: bytearray = field(default_factory=bytearray)

    def give(self, job: RoundJob | ShrinkJob) -> None:
        self.position.value = job.start if isinstance(job, RoundJob) else 0
        self.job, self.seen, self.since = job, -1, monotonic()
        assert self.process.stdin is not None
        pickle.dump(job, self.process.stdin)
        self.process.stdin.flush()

    def stuck_for(self) -> float:
        """Seconds at the same case."""
        at = self.position.value
        if at != self.seen:
            self.seen, self.since = at, monotonic()
        return monotonic() - self.since

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class Campaign:
    """``run`` fills ``state``; ``failed`` hears of each shrunk failure, ``progress`` gets a line now and then."""

    def __init__(
        self,
        setting: Setting,
        state: State,
        folder: Path,
        *,
        workers: int,
        first_only: bool,
        failed: Callable[[Shrunk], None],
        progress: Report,
    ) -> None:
        self.setting, self.state, self.folder = setting, state, folder
        self._workers, self._first_only = workers, first_only
        self._failed, self._progress = failed, progress
        self._turn = setting.lanes()
        self._children: list[_Child] = []
        self._selector = selectors.DefaultSelector()
        self._to_shrink: list[ShrinkJob] = []
        self._known: dict[tuple[str, str, str], int] = {}
        self._shrunk: list[Shrunk] = []
        self._begin = self._saved = 0.0

    def run(self, seconds: float) -> None:
        """Fuzz for ``seconds`` after the kernels are built; failures found by then are shrunk in any case. What is
        known is on disk at any time, and after an interrupt too. UsageError if a kernel does not build."""
        before = self.state.seconds
        with tempfile.TemporaryDirectory(prefix="bitgate-fuzz-") as scratch:
            try:
                self._start(Path(scratch))
                self._begin = self._saved = monotonic()
                end = self._begin + seconds
                while self._is_busy(end):
                    self._hand_out(end, Path(scratch))
                    self._listen()
                    self._watch(Path(scratch))
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

    def _start(self, scratch: Path) -> None:
        """Build what is not built, with all cores; then the workers find it done."""
        target = named(self.setting.target)
        builder = Builder(target.platform, self._progress, arch=None if target.platform == "host" else target.name)
        builder.runtime()
        builder.native()
        for family in {lane.family.name: lane.family for lane in self._turn}.values():
            builder.family(family)
        self._children = [self._spawn(scratch) for _ in range(self._workers)]
        for child in self._children:
            while not child.is_ready:
                self._receive(child)

    def _spawn(self, scratch: Path) -> _Child:
        path = scratch / f"position-{time()}-{len(self._children)}"
        position = Position.create(path)
        environment = dict(os.environ)
        if self._workers > 1:
            environment["BITGATE_THREADS"] = "1"
        process = subprocess.Popen(
            [sys.executable, "-c", "from bitgate.fuzz.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        child = _Child(process, position)
        pickle.dump((self.setting, path), process.stdin)
        process.stdin.flush()
        self._selector.register(process.stdout, selectors.EVENT_READ, child)
        return child

    def _hand_out(self, end: float, scratch: Path) -> None:
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
        """Whatever has arrived; nothing may stay behind in a buffer, where no selector would see it."""
        assert child.process.stdout is not None
        data = os.read(child.process.stdout.fileno(), CHUNK_BYTES)
        if not data:
            child.process.wait()  # _watch sees that it is gone
            if not child.is_ready:
                raise UsageError(f"a worker ended with {child.process.returncode} before its first case")
        child.inbox += data
        for answer in complete(child.inbox):
            self._take(child, answer)

    def _take(self, child: _Child, answer: object) -> None:
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Found):
            self._found(replace(answer, seconds=answer.seconds - self._begin))
        elif isinstance(answer, Tally):
            self.state.tally.join(answer)
        elif isinstance(answer, RoundDone):
            child.job = None
            self.state.tally.join(answer.tally)
            if answer.next_case is not None:
                self.state.unfinished[answer.number] = answer.next_case
        elif isinstance(answer, Shrunk):
            child.job = None
            self._note(answer)
        else:
            child.is_ready = True

    def _watch(self, scratch: Path) -> None:
        """Replace workers that died or hang; the case that they were at is a failure."""
        for place, child in enumerate(self._children):
            limit = self.setting.case_seconds
            hung = child.job is not None and child.stuck_for() > limit
            if child.process.poll() is None and not hung:
                continue
            if hung:
                child.end()
            assert child.process.stdout is not None
            self._selector.unregister(child.process.stdout)
            if isinstance(child.job, RoundJob):
                at = child.position.value
                self.state.unfinished[child.job.number] = at + 1
                self._died(child.job.number, at, hung, child.process.returncode)
            elif isinstance(child.job, ShrinkJob) and not child.job.isolated:
                self._to_shrink.append(replace(child.job, isolated=True))
            self._children[place] = self._spawn(scratch)

    def _died(self, number: int, index: int, hung: bool, code: int) -> None:
        lane, visit = lane_of(self._turn, number)
        cases = enumerate(lane.cases(self.setting.seed, visit, self.setting.target))
        planned = next(planned for at, planned in cases if at == index)
        limit = self.setting.case_seconds
        reason = f"no verdict after {limit:g} s" if hung else f"the process died of {_signal(code)}"
        outcome = Outcome.HUNG if hung else Outcome.CRASHED
        verdict = _dead(planned, outcome, reason, self.setting.load)
        self._found(Found(planned, verdict, monotonic() - self._begin, lane.name, visit))

    def _put_back(self, child: _Child) -> None:
        """An unfinished round is gone on with at the case that its worker had not finished."""
        if isinstance(child.job, RoundJob):
            self.state.unfinished[child.job.number] = child.position.value

    # ---- failures

    def _found(self, found: Found) -> None:
        seen = self._known.get(found.signature, 0)
        self._known[found.signature] = seen + 1
        if seen:
            return
        self._progress(f"{found.verdict.outcome}: {found.verdict.repro}; shrinking it")
        self._to_shrink.append(ShrinkJob(found, self.setting.shrink_seconds, isolated=ends_process(found.verdict)))

    def _note(self, shrunk: Shrunk) -> None:
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
    """On the host one a core; elsewhere one for the device."""
    return rooms.threads() if named(target).platform == "host" else 1


def _signal(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _dead(planned: PlannedCase, outcome: Outcome, reason: str, load: tuple[Path, ...]) -> Verdict:
    target = named(planned.target)
    return Verdict(
        key=planned.key,
        outcome=outcome,
        reason=reason,
        platform=target.platform,
        device_kind=target.kind,
        device_name=target.device_name,
        repro=repro_line(planned, load) + " --isolate",
        human=human(planned.problem),
    )
