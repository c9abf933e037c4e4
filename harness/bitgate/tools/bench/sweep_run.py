"""A sweep: shape after shape, the kernels of each arm are verified, then timed interleaved on one device."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from time import monotonic
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.declaration import Refusal
from bitgate.kernel.resolved import Kernel
from bitgate.model import Accumulation, Problem, case_id
from bitgate.results.record import Outcome, Stamp
from bitgate.results.record.event import RecordError
from bitgate.results.record.identity import begin
from bitgate.results.record.timing import Timing, TimingStatus, timings, write
from bitgate.runtime.targets import Target
from bitgate.tools.bench.arm import Arm, Candidate, TimedShape
from bitgate.tools.bench.clocks import Clocks
from bitgate.tools.bench.rounds import ArmSamples, play
from bitgate.tools.bench.rows import refused_row, timed_row
from bitgate.tools.bench.settings import Settings
from bitgate.tools.bench.timer import GUEST
from bitgate.tools.bench.trees import Tree, tree_of
from bitgate.tools.bench.worker import FIRST_BUILDS_SECONDS, CandidateRun, share_batch
from bitgate.verify.planned import PlannedCase, repro_line
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.selection import candidates, select_for
from bitgate.worker.worker import WorkerDied

CLOSE_SECONDS = 60.0

ALWAYS_SAID = frozenset({"dtypes", "layout", "layouts", "ndim", "ndims"})
"""Clauses that say nothing of a shape: half of all instances are for other types."""

Say = Callable[[str], None]


def measure(
    shapes: Sequence[TimedShape],
    sides: Sequence[Arm],
    settings: Settings,
    target: Target,
    project: Project,
    *,
    journal: Path | None = None,
    resume: bool = False,
    progress: Say = lambda line: None,
    begins: Callable[[], None] = lambda: None,
) -> Iterator[Timing]:
    """Yield the rows of every shape, those of a shape together once all of it is done.

    Each row is in the ``journal`` before it is yielded; ``begins`` is called before each is written. With ``resume``,
    rows of the journal with the same settings and unchanged kernels are yielded as they are and not measured again.

    Raises UsageError for an arm that has no kernel, or sources that are not a project, and OSError where the journal
    cannot be written.
    """
    with ExitStack() as stack:
        run = _SweepRun(sides, settings, target, project, journal, resume, progress, begins, stack)
        for number, shape in enumerate(shapes, 1):
            yield from run.measured(shape, f"{number}/{len(shapes)}")


class _SweepRun:
    def __init__(
        self,
        sides: Sequence[Arm],
        settings: Settings,
        target: Target,
        project: Project,
        journal: Path | None,
        resume: bool,
        progress: Say,
        begins: Callable[[], None],
        stack: ExitStack,
    ) -> None:
        self._begins = begins
        self._settings, self._target, self._journal, self._progress = settings, target, journal, progress
        self._project = project
        self._known = _known(journal, settings) if resume and journal is not None else {}
        self._stamp: Stamp = begin()
        self._clocks = Clocks(target)
        self._kernels: list[tuple[Arm, list[Kernel]]] = []
        self._processes: dict[Path | None, CaseProcess] = {}
        self._begun_once: set[CaseProcess] = set()
        self._round = 1
        self._free = 0.0
        """Seconds of the shape that do not count against its budget."""
        trees: dict[Path | None, Tree] = {}
        for side in sides:
            if side.tree not in trees:
                tree = trees[side.tree] = tree_of(project, side.tree)
                opening = Opening(target.name, tree.project, environment=tree.environment)
                self._processes[side.tree] = stack.enter_context(CaseProcess(opening, progress=progress))
            tree = trees[side.tree]
            self._kernels.append((side, _candidates(side, tree, target.name, progress)))

    def measured(self, shape: TimedShape, place: str) -> Iterator[Timing]:
        started = monotonic()
        self._stamp = self._stamp.now()
        rows, runs = self._candidate_runs(shape)
        wanted = [*rows, *map(self._identity_row, runs)]
        known = [row for row in (self._known.get(one.identity) for one in wanted) if row is not None]
        # A sweep interrupted while it writes rows leaves rows of two runs, which are not compared.
        at_once = bool(known) and all(row.run == known[0].run for row in known)
        if len(known) == len(wanted) and at_once and self._are_of_today(runs):
            self._progress(f"{place} {_shape_name(shape)}: measured before")
            yield from known
            return
        self._progress(f"{place} {_shape_name(shape)}: {len(runs)} kernels")
        for row in rows:
            yield self._journaled(row)
        self._free = 0.0
        if runs:
            budget = self._settings.budget
            yield from self._timed(shape, runs, lambda: budget - (monotonic() - started - self._free))

    def _timed(self, shape: TimedShape, runs: list[CandidateRun], left: Callable[[], float]) -> Iterator[Timing]:
        # All are verified before the first is warmed up: a verification may end the process that holds the buffers.
        for do, what in ((self._verify, "verified"), (CandidateRun.open, "timed")):
            for run in by_data(runs):
                self._step(run, do, what, left())
        share_batch([run for run in runs if run.status is None])
        lanes = [ArmSamples(run.contender.side.name, run, run.cost) for run in runs]
        running = [lane for lane, run in zip(lanes, runs, strict=True) if run.status is None]
        self._round = 1
        self._clocks.begin()
        seed = f"{self._settings.seed} {shape.name} {case_id(shape.problem)}"  # shapes differ in their order
        with progress_reports(self._progress, lambda: f"  round {self._round} of {self._settings.samples} or more"):
            play(running, self._settings.samples, left, seed, self._after_round)
        for run in runs:
            run.finish()
        clocks = self._clocks.end()
        self._close()
        for lane, run in zip(lanes, runs, strict=True):
            repro = repro_line(run.planned, self._project.added)
            if run.verdict is not None and run.verdict.outcome is Outcome.PASS:
                repro = repro.replace("bitgate verify", "bitgate bench", 1)
            yield self._journaled(timed_row(run, lane, self._target, clocks, self._stamp, repro))

    def _after_round(self, number: int) -> None:
        self._clocks.read()
        self._round = number + 2

    def _verify(self, run: CandidateRun, left: float) -> None:
        """Verify within the budget, which counts no builds.

        The first verification of a process is free: it builds what references and comparisons need.
        """
        begun = monotonic()
        run.verify(left if run.process in self._begun_once else left + FIRST_BUILDS_SECONDS)
        spent = monotonic() - begun
        own = run.verdict.seconds.get("total", spent) if run.verdict else spent
        self._free += spent if run.process not in self._begun_once else max(0.0, spent - own)
        self._begun_once.add(run.process)

    def _step(self, run: CandidateRun, do: Callable[[CandidateRun, float], None], what: str, left: float) -> None:
        if run.status is not None:
            return
        if left > 0:
            with progress_reports(self._progress, lambda: f"  {run.contender.words}: being {run.doing or what}"):
                do(run, left)
        else:
            run.status = TimingStatus.OVER_BUDGET
            run.reason = f"the {self._settings.budget:g} s of the shape were up before it was {what}"
        if run.status is not None:
            self._progress(f"  {run.contender.words}: {run.status.value}: {run.reason}")

    def _close(self) -> None:
        """Free the buffers of the shape; end a process that cannot give them back."""
        for process in self._processes.values():
            if process.is_running:
                try:
                    process.call(GUEST, "close", {}, CLOSE_SECONDS)
                except (WorkerDied, RuntimeError):
                    process.end()

    def _candidate_runs(self, shape: TimedShape) -> tuple[list[Timing], list[CandidateRun]]:
        """Return rows of the refusals where no kernel of an arm takes the shape, and the candidates to be timed.

        The arms are interleaved, so that a short budget is shared.
        """
        rows: list[Timing] = []
        of_sides: list[list[CandidateRun]] = []
        for side, kernels in self._kernels:
            selection = select_for(shape.problem, kernels)
            of_sides.append([self._candidate_run(side, kernel, shape) for kernel in selection.supporting])
            if selection.supporting:
                continue
            telling = [one for one in selection.refusing if one[1].clause not in ALWAYS_SAID]
            for kernel, refusal in telling or selection.refusing or _none_computes(shape.problem, kernels):
                planned = self._planned(kernel, shape)
                named = (side.name, side.build)
                rows.append(refused_row(planned, named, shape, refusal, self._settings, self._target, self._stamp))
        turns = zip_longest(*of_sides)
        return rows, [run for turn in turns for run in turn if run is not None]

    def _candidate_run(self, side: Arm, kernel: Kernel, shape: TimedShape) -> CandidateRun:
        process = self._processes[side.tree]
        return CandidateRun(Candidate(side, kernel), shape, self._planned(kernel, shape), process, self._settings)

    def _planned(self, kernel: Kernel, shape: TimedShape) -> PlannedCase:
        target, settings = self._target.name, self._settings
        return PlannedCase(
            shape.problem, kernel, settings.fill, settings.seed, target=target, reference=settings.reference
        )

    def _identity_row(self, run: CandidateRun) -> Timing:
        """Return a row of which only the identity is used."""
        return timed_row(run, ArmSamples(run.contender.side.name, run), self._target, {}, self._stamp, "")

    def _are_of_today(self, runs: Sequence[CandidateRun]) -> bool:
        """Say whether the known rows are from a device of this name and from kernels as they are built now."""
        known = [(run, self._known[self._identity_row(run).identity]) for run in runs]
        here = self._target.device_name
        return all(row.device.get("name") == here and run.is_of_today(row) for run, row in known)

    def _journaled(self, row: Timing) -> Timing:
        if self._journal is not None:
            self._begins()
            write(self._journal, row)
        return row


def by_data(runs: Sequence[CandidateRun]) -> list[CandidateRun]:
    """Order the candidates such that those that sum alike follow each other.

    Data are made for how a kernel sums. A process keeps one reference on its device, which takes a second for long
    sums.
    """
    together: dict[Accumulation, list[CandidateRun]] = {}
    for run in runs:
        planned = run.planned
        together.setdefault(planned.kernel.instance.accumulation_for(planned.problem), []).append(run)
    return [run for alike in together.values() for run in alike]


def _none_computes(problem: Problem, kernels: Sequence[Kernel]) -> list[tuple[Kernel, Refusal]]:
    """Return one refusal for all kernels, which are of other operations: a shape without any row would go unnoticed."""
    offered = dict.fromkeys(name for kernel in kernels for name in kernel.family.operations_of(kernel.instance))
    text = f"no kernel of this side computes {problem.operation.name}, only {', '.join(offered)}"
    return [(kernel, Refusal("operation", text)) for kernel in kernels[:1]]


def _candidates(side: Arm, tree: Tree, target: str, progress: Say) -> list[Kernel]:
    """Return an arm's kernels: none if another checkout lacks the kernel, or its declarations cannot be read."""
    try:
        return candidates(side.kernel, dict(side.options), target, tree.project, tree.declarations)
    except UsageError as error:
        if side.tree is None:
            raise
        progress(f"side {side.name} has no kernel: {error}")
        return []


def _known(journal: Path, settings: Settings) -> Mapping[tuple[Any, ...], Timing]:
    """Return the rows that were measured with these settings, by identity.

    A last line that was cut short is removed, since appended text would complete it. Raises UsageError for a file that
    is not a record.
    """
    if not journal.exists():
        return {}
    wanted = asdict(settings)
    try:
        known = list(timings(journal))
    except RecordError as error:
        raise UsageError(f"--resume: {error}; fix that, or start afresh without --resume") from None
    whole = journal.read_bytes()
    if not whole.endswith(b"\n"):
        os.truncate(journal, whole.rfind(b"\n") + 1)
    return {row.identity: row for row in known if wanted == {name: row.settings.get(name) for name in wanted}}


def _shape_name(shape: TimedShape) -> str:
    return shape.name or shape.problem.operation.human(shape.problem)


FIRST_SECONDS = 5.0
"""Seconds until the first report."""
THEN_SECONDS = 30.0


@contextmanager
def progress_reports(say: Callable[[str], None], words: Callable[[], str]) -> Iterator[None]:
    """Report now and then while the body takes longer than a few seconds, from a separate thread.

    ``words`` returns what is running, and on what.
    """
    begun, ended = monotonic(), threading.Event()

    def tell() -> None:
        pause = FIRST_SECONDS
        while not ended.wait(pause):
            say(f"{words()}, {monotonic() - begun:.0f} s so far")
            pause = THEN_SECONDS

    thread = threading.Thread(target=tell, name="bitgate-at-work", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
