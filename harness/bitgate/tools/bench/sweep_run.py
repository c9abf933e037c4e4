"""Shapes, one after the other: what each side has for it is verified, then timed in turns on one device."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
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
from bitgate.results.record.stamp import begin
from bitgate.results.record.timing import Timing, TimingStatus, timings, write
from bitgate.runtime.targets import Target
from bitgate.tools.bench.arm import Arm, Candidate, TimedShape
from bitgate.tools.bench.clocks import Clocks
from bitgate.tools.bench.progress import at_work
from bitgate.tools.bench.rounds import ArmSamples, play
from bitgate.tools.bench.rows import refused_row, timed_row
from bitgate.tools.bench.settings import Settings
from bitgate.tools.bench.timer import GUEST
from bitgate.tools.bench.trees import Tree, tree_of
from bitgate.tools.bench.worker import FIRST_BUILDS_SECONDS, CandidateRun, share_batch
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.repro import repro_line
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
    """The rows of every shape, those of a shape together once all of it is done; each is in the ``journal`` before it
    is given; ``begins`` is called before each is written. ``resume``: what stands there, with the same settings and of
    the kernels of today, is given as it is and not measured again.

    UsageError for a side that has no kernel, or sources that are none. OSError where the journal cannot be written.
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
        """Seconds of the shape that its budget does not count."""
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
        rows, entrants = self._entrants(shape)
        wanted = [*rows, *map(self._begun, entrants)]
        known = [row for row in (self._known.get(one.identity) for one in wanted) if row is not None]
        # One that was interrupted while its rows were written leaves rows of two runs, which are not compared.
        at_once = bool(known) and all(row.run == known[0].run for row in known)
        if len(known) == len(wanted) and at_once and self._are_of_today(entrants):
            self._progress(f"{place} {_called(shape)}: measured before")
            yield from known
            return
        self._progress(f"{place} {_called(shape)}: {len(entrants)} kernels")
        for row in rows:
            yield self._kept(row)
        self._free = 0.0
        if entrants:
            budget = self._settings.budget
            yield from self._timed(shape, entrants, lambda: budget - (monotonic() - started - self._free))

    def _timed(self, shape: TimedShape, entrants: list[CandidateRun], left: Callable[[], float]) -> Iterator[Timing]:
        # All are verified before the first is warmed up: a verification may end the process that holds the buffers.
        for do, what in ((self._verify, "verified"), (CandidateRun.open, "timed")):
            for entrant in by_data(entrants):
                self._step(entrant, do, what, left())
        share_batch([entrant for entrant in entrants if entrant.status is None])
        lanes = [ArmSamples(entrant.contender.side.name, entrant, entrant.cost) for entrant in entrants]
        running = [lane for lane, entrant in zip(lanes, entrants, strict=True) if entrant.status is None]
        self._round = 1
        self._clocks.begin()
        seed = f"{self._settings.seed} {shape.name} {case_id(shape.problem)}"  # no order is that of all shapes
        with at_work(self._progress, lambda: f"  round {self._round} of {self._settings.samples} or more"):
            play(running, self._settings.samples, left, seed, self._behind)
        for entrant in entrants:
            entrant.finish()
        clocks = self._clocks.end()
        self._close()
        for lane, entrant in zip(lanes, entrants, strict=True):
            repro = repro_line(entrant.planned, self._project.added)
            if entrant.verdict is not None and entrant.verdict.outcome is Outcome.PASS:
                repro = repro.replace("bitgate verify", "bitgate bench", 1)
            yield self._kept(timed_row(entrant, lane, self._target, clocks, self._stamp, repro))

    def _behind(self, number: int) -> None:
        self._clocks.look()
        self._round = number + 2

    def _verify(self, entrant: CandidateRun, left: float) -> None:
        """Builds are in no shape's budget, and a process' first verification is not: it builds what references and
        comparisons need."""
        begun = monotonic()
        entrant.verify(left if entrant.process in self._begun_once else left + FIRST_BUILDS_SECONDS)
        spent = monotonic() - begun
        own = entrant.verdict.seconds.get("total", spent) if entrant.verdict else spent
        self._free += spent if entrant.process not in self._begun_once else max(0.0, spent - own)
        self._begun_once.add(entrant.process)

    def _step(self, entrant: CandidateRun, do: Callable[[CandidateRun, float], None], what: str, left: float) -> None:
        if entrant.status is not None:
            return
        if left > 0:
            with at_work(self._progress, lambda: f"  {entrant.contender.words}: being {entrant.doing or what}"):
                do(entrant, left)
        else:
            entrant.status = TimingStatus.OVER_BUDGET
            entrant.reason = f"the {self._settings.budget:g} s of the shape were up before it was {what}"
        if entrant.status is not None:
            self._progress(f"  {entrant.contender.words}: {entrant.status.value}: {entrant.reason}")

    def _close(self) -> None:
        """Buffers of the shape; a process that cannot give them back is ended."""
        for process in self._processes.values():
            if process.is_running:
                try:
                    process.call(GUEST, "close", {}, CLOSE_SECONDS)
                except (WorkerDied, RuntimeError):
                    process.end()

    def _entrants(self, shape: TimedShape) -> tuple[list[Timing], list[CandidateRun]]:
        """Rows of what is refused, where no kernel of a side takes the shape; and who is to be timed, the sides in
        turns, so that a short budget is shared."""
        rows: list[Timing] = []
        of_sides: list[list[CandidateRun]] = []
        for side, kernels in self._kernels:
            selection = select_for(shape.problem, kernels)
            of_sides.append([self._entrant(side, kernel, shape) for kernel in selection.supporting])
            if selection.supporting:
                continue
            telling = [one for one in selection.refusing if one[1].clause not in ALWAYS_SAID]
            for kernel, refusal in telling or selection.refusing or _none_computes(shape.problem, kernels):
                planned = self._planned(kernel, shape)
                named = (side.name, side.build)
                rows.append(refused_row(planned, named, shape, refusal, self._settings, self._target, self._stamp))
        turns = zip_longest(*of_sides)
        return rows, [entrant for turn in turns for entrant in turn if entrant is not None]

    def _entrant(self, side: Arm, kernel: Kernel, shape: TimedShape) -> CandidateRun:
        process = self._processes[side.tree]
        return CandidateRun(Candidate(side, kernel), shape, self._planned(kernel, shape), process, self._settings)

    def _planned(self, kernel: Kernel, shape: TimedShape) -> PlannedCase:
        target, settings = self._target.name, self._settings
        return PlannedCase(
            shape.problem, kernel, settings.fill, settings.seed, target=target, reference=settings.reference
        )

    def _begun(self, entrant: CandidateRun) -> Timing:
        """A row of which only the identity is asked."""
        return timed_row(entrant, ArmSamples(entrant.contender.side.name, entrant), self._target, {}, self._stamp, "")

    def _are_of_today(self, entrants: Sequence[CandidateRun]) -> bool:
        """On a device of this name, and of kernels as they are built now."""
        known = [(entrant, self._known[self._begun(entrant).identity]) for entrant in entrants]
        here = self._target.device_name
        return all(row.device.get("name") == here and entrant.is_of_today(row) for entrant, row in known)

    def _kept(self, row: Timing) -> Timing:
        if self._journal is not None:
            self._begins()
            write(self._journal, row)
        return row


def by_data(entrants: Sequence[CandidateRun]) -> list[CandidateRun]:
    """Those that sum alike behind each other: data are made for how a kernel sums, and a process keeps one reference
    on its device, which of long sums takes a second."""
    together: dict[Accumulation, list[CandidateRun]] = {}
    for entrant in entrants:
        planned = entrant.planned
        together.setdefault(planned.kernel.instance.accumulation_for(planned.problem), []).append(entrant)
    return [entrant for alike in together.values() for entrant in alike]


def _none_computes(problem: Problem, kernels: Sequence[Kernel]) -> list[tuple[Kernel, Refusal]]:
    """One row for all kernels, which are of other operations: a shape without any would be missing unseen."""
    offered = dict.fromkeys(name for kernel in kernels for name in kernel.family.operations_of(kernel.instance))
    text = f"no kernel of this side computes {problem.operation.name}, only {', '.join(offered)}"
    return [(kernel, Refusal("operation", text)) for kernel in kernels[:1]]


def _candidates(side: Arm, tree: Tree, target: str, progress: Say) -> list[Kernel]:
    """Another tree may lack the kernel, or what it declares may not be read: then that side has none."""
    try:
        return candidates(side.kernel, dict(side.options), target, tree.project, tree.declarations)
    except UsageError as error:
        if side.tree is None:
            raise
        progress(f"side {side.name} has no kernel: {error}")
        return []


def _known(journal: Path, settings: Settings) -> Mapping[tuple[Any, ...], Timing]:
    """Rows that were measured with these settings, by identity. A last line that was cut short goes, as what is
    appended would end it. UsageError for a file that is no record."""
    if not journal.exists():
        return {}
    wanted = asdict(settings)
    try:
        known = list(timings(journal))
    except RecordError as error:
        raise UsageError(f"--resume: {error}; mend that, or start afresh without --resume") from None
    whole = journal.read_bytes()
    if not whole.endswith(b"\n"):
        os.truncate(journal, whole.rfind(b"\n") + 1)
    return {row.identity: row for row in known if wanted == {name: row.settings.get(name) for name in wanted}}


def _called(shape: TimedShape) -> str:
    return shape.name or shape.problem.operation.human(shape.problem)
