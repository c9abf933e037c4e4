"""One run of suites, as its hooks share it: what was decided at the start, and where things go."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from bitgate.core import emulation, paths
from bitgate.core.errors import UsageError
from bitgate.core.progress import print_progress
from bitgate.core.project import Project
from bitgate.kernel.declared import is_own
from bitgate.results.allowed_skips import AllowedSkip
from bitgate.results.allowed_skips import judged as tolerated_or_not
from bitgate.results.plan import Plan, PlanError, PlannedItem
from bitgate.results.record import Key, Stamp, Verdict
from bitgate.results.record.identity import where
from bitgate.results.run_plan import RunPlan
from bitgate.results.shard import PATIENCE_SECONDS, Shard, patience
from bitgate.runtime.targets import Target
from bitgate.suite.known_bugs import KnownBugs
from bitgate.suite.planning import Setting, for_table, row_of
from bitgate.suite.table import loads
from bitgate.verify.planned import PlannedCase
from bitgate.verify.repetition import ONCE, Repetition

if TYPE_CHECKING:
    from bitgate.results.report.ledger import MergedNight
    from bitgate.results.report.summary import Summary
    from bitgate.verify.process import CaseProcess, Opening
    from bitgate.verify.this_process import ThisProcess

RESULTS = "results.jsonl"
PREVIOUS = "results.prev.jsonl"
PLAN = "plan.json"


class RunEnd(Enum):
    """End of a session. WHOLE: every test had its turn."""

    WHOLE = "whole"
    STOPPED = "stopped"
    """By its own decision, as with -x."""
    UNCOLLECTED = "uncollected"
    INTERRUPTED = "interrupted"
    """By a person or a scheduler: Ctrl-C, SIGTERM."""


Done = frozenset[tuple[str, Key]]
"""Node id and key of tests."""


@dataclass
class TestRun:
    """Run of tests. Collection fills ``tests``, by node id, and ``plan``. ``worker`` is xdist's name, or ``main``."""

    target: Target
    setting: Setting
    tier: str
    folder: Path
    project: Project
    timeout: float | None
    """Seconds that a case may take, if stated."""
    resume: bool
    select: frozenset[str] | None
    """The ids that are to run; None: all."""
    worker: str
    is_worker: bool
    is_controller: bool
    """True in the process that hands tests out to workers and runs none itself."""
    stamp: Stamp
    shard: Shard | None = None
    whole: RunPlan | None = None
    """The plan of all targets and shards, if the run was given one."""
    processes: int = 0
    """In which kernels run side by side; 0: one, and cases begin as their tests come up."""
    in_process: bool = False
    """Kernels run in this process, for debuggers: nothing can be vouched for then."""
    builds_ahead: bool = True
    """False in a run that ends at its first red cases: most of what it might load it never does."""
    tests: dict[str, PlannedCase] = field(default_factory=dict)
    repetition: Repetition = ONCE
    shuffle: int | None = None
    """The seed of the order of cases; None: probes, then reference kernels, then the rest as collected."""
    repeated: frozenset[str] = frozenset()
    """Node ids of the tests whose cases are launched once more with other data: of each instance the smallest."""
    known_bugs: KnownBugs = field(default_factory=KnownBugs)
    tolerated: tuple[AllowedSkip, ...] = ()
    """The gaps that the project's targets file allows this target."""
    plan: Plan | None = None
    done: Done = frozenset()
    """What a resumed run need not run again."""
    record_start: int = 0
    """Bytes of the record that an earlier run wrote, which this one resumes."""
    summary: Summary | None = None
    ended: RunEnd = RunEnd.WHOLE
    lock: FileLock | None = None
    """On the folder, in the process that answers for the run."""
    notes: tuple[str, ...] = ()
    """Notes for the reader of its reports, besides the verdicts."""
    broken: str = ""
    """Obstacle that the user must fix before a run can end: the record cannot be written."""

    @cached_property
    def where(self) -> dict[str, str]:
        """Node, job and log of this run."""
        return where()

    @property
    def results(self) -> Path:
        return self.folder / RESULTS

    @property
    def plan_id(self) -> str:
        return self.plan.id if self.plan else ""

    @cached_property
    def kernels(self) -> CaseProcess | ThisProcess:
        """The process that kernels run in, started at the first verdict."""
        from bitgate.verify.process import CaseProcess
        from bitgate.verify.this_process import ThisProcess

        return (ThisProcess if self.in_process else CaseProcess)(self.opening, progress=progress)

    @property
    def opening(self) -> Opening:
        """Opening of a kernel process, once all is collected."""
        from bitgate.verify.process import Opening

        suites = {row_of(test).origin.path.parent.parent for test in self.tests.values()}
        return Opening(
            self.target.name,
            self.project,
            suites=tuple(sorted(suites)),
            repeats_all=False,
            repetition=self.repetition,
        )

    @cached_property
    def earlier(self) -> tuple[PlannedItem, ...]:
        """Plan of the earlier run; nothing if it left none that can be read."""
        try:
            return Plan.read(self.folder / PLAN).cases
        except (OSError, PlanError):
            return ()

    @property
    def first_families(self) -> list[str]:
        """Whose libraries are needed first, as far as that is known before anything is collected: on a GPU, where each
        takes its time to load, those of the probes and of the reference kernels."""
        setting, asked = self.setting, self.select
        if setting.platform == "host":
            return []
        meant = {kernel.family.name: kernel.family for kernel in setting.meant(tuple(setting.families))}
        return [
            name
            for name, family in meant.items()
            if (family.is_probe or family.is_reference)
            and is_own(family)
            and (asked is None or any(f"__{name}_" in one for one in asked))
        ]

    def is_probe(self, test: PlannedCase) -> bool:
        """Return whether the test measures the platform."""
        return test.kernel.family.is_probe

    def patience(self, test: PlannedCase) -> float:
        """Seconds after which the case counts as hung."""
        return self.timeout or max(patience(test.seconds), PATIENCE_SECONDS * emulation.slowness())

    def placed(self, verdict: Verdict, test: PlannedCase, node_id: str) -> Verdict:
        """Return the verdict with its place in the plan, and as a known bug if it is one.

        The pipeline does not know which test of which plan asked.
        """
        stamp = self.stamp.now()
        verdict = replace(
            verdict,
            suite=test.suite,
            test=node_id,
            tier=test.tier,
            plan=self.plan_id,
            row=test.row,
            run=stamp,
            where=self.where,
        )
        return tolerated_or_not(self.known_bugs.judged(verdict, test), self.tolerated)

    def write_reports(self) -> MergedNight:
        """junit.xml and summary.md from the record, and what was read there. What was planned and is not in it is
        lost, unless the session ended before its time."""
        from bitgate.results.report.junit_dialect import dialect_named
        from bitgate.results.report.render import read_run, render

        early = self.ended is not RunEnd.WHOLE
        with as_pytest_error():
            night = read_run(self.folder, interrupted=early)
            self.summary = render(
                self.folder,
                tier=self.tier,
                target=self.target.name,
                interrupted=early,
                notes=self.notes,
                night=night,
                junit=dialect_named(self.project.junit),
            )
        return night

    def adopt(self, table: Path) -> Setting:
        """Return the setting of a table's rows; what it loads is loaded for the run. Raises UsageError."""
        setting = for_table(self.setting, table)
        if setting is not self.setting:
            self.setting = replace(self.setting, families=setting.families)
            self.project = self.project.loading(loads(table))
        return setting


RUN = pytest.StashKey[TestRun]()
BROKEN = "bitgate_broken"
"""Key of ``TestRun.broken`` in what a worker hands back."""


def progress(line: str) -> None:
    """Print a build's progress on stderr, past pytest's capture, since the first one takes a minute."""
    print_progress(line, sys.__stderr__)


@contextmanager
def as_pytest_error() -> Iterator[None]:
    """pytest shows its own UsageError as one line, and any other exception as a crash of pytest."""
    try:
        yield
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    except OSError as error:  # a full disk, a folder that may not be written
        what = f"{error.strerror or error}: free space, or set BITGATE_OUT to a folder that can be written"
        raise pytest.UsageError(f"{paths.out_dir()}: {what}") from None
