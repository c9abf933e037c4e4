"""One run of suites, as its hooks share it: what was decided at the start, and where things go."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

from bitgate import rooms
from bitgate.cases import durations
from bitgate.cases.known_bugs import KnownBugs
from bitgate.cases.plan import Plan, PlanError, PlannedItem
from bitgate.cases.planning import Setting, for_table, row_of
from bitgate.cases.row import SMOKE
from bitgate.cases.run_plan import RunPlan
from bitgate.cases.shard import Shard
from bitgate.cases.table import loads
from bitgate.device import targets
from bitgate.device.host import RACE, SCHEDULE_PATTERN, SCHEDULE_WORDS
from bitgate.device.targets import Target
from bitgate.errors import UsageError
from bitgate.kernel import registry
from bitgate.kernel.loading import loaded_names, to_load, with_operations
from bitgate.outside import OddInput, read_bytes
from bitgate.plugin import leases, sharding
from bitgate.plugin.options import pairs
from bitgate.project import Project
from bitgate.project_file import find
from bitgate.record import Key, Stamp, Verdict
from bitgate.record import stamp as stamps
from bitgate.verify.planned import PlannedCase

if TYPE_CHECKING:
    from bitgate.report import Summary
    from bitgate.verify.process import CaseProcess, ThisProcess

PATIENCE_SECONDS = 300.0
PATIENCE = 20
"""Times the estimate."""

RESULTS = "results.jsonl"
PREVIOUS = "results.prev.jsonl"
PLAN = "plan.json"


class End(Enum):
    """How a session ended. WHOLE: every test had its turn."""

    WHOLE = "whole"
    STOPPED = "stopped"
    """By its own decision, as with -x."""
    UNCOLLECTED = "uncollected"
    INTERRUPTED = "interrupted"
    """By a person or a scheduler: Ctrl-C, SIGTERM."""


Done = frozenset[tuple[str, Key]]
"""Node id and key of tests."""


@dataclass
class Run:
    """``tests`` by node id are filled at collection; ``plan`` too. ``worker`` is xdist's name, or ``main``."""

    target: Target
    setting: Setting
    tier: str
    folder: Path
    project: Project
    timeout: float | None
    """Seconds that a case may take, if stated."""
    resume: bool
    select: frozenset[str]
    worker: str
    is_worker: bool
    is_controller: bool
    """True in the process that hands tests out to workers and runs none itself."""
    stamp: Stamp
    shard: Shard | None = None
    whole: RunPlan | None = None
    """The plan of all targets and shards, if the run was given one."""
    in_process: bool = False
    """Kernels run in this process, for debuggers: nothing can be vouched for then."""
    builds_ahead: bool = True
    """False in a run that ends at its first red cases: most of what it might load it never does."""
    tests: dict[str, PlannedCase] = field(default_factory=dict)
    known_bugs: KnownBugs = field(default_factory=KnownBugs)
    plan: Plan | None = None
    done: Done = frozenset()
    """What a resumed run need not run again."""
    record_start: int = 0
    """Bytes of the record that an earlier run wrote, which this one resumes."""
    summary: Summary | None = None
    ended: End = End.WHOLE
    lock: FileLock | None = None
    """On the folder, in the process that answers for the run."""
    notes: tuple[str, ...] = ()
    """What the reader of its reports must know beside the verdicts."""
    broken: str = ""
    """What the user must mend before a run can end: the record cannot be written."""

    @property
    def results(self) -> Path:
        return self.folder / RESULTS

    @property
    def plan_id(self) -> str:
        return self.plan.id if self.plan else ""

    @cached_property
    def kernels(self) -> CaseProcess | ThisProcess:
        """The process that kernels run in, started at the first verdict."""
        from bitgate.verify.process import CaseProcess, Opening, ThisProcess

        suites = {row_of(test).origin.path.parent.parent for test in self.tests.values()}
        opening = Opening(self.target.name, self.project, suites=tuple(sorted(suites)), repeats_all=False)
        return (ThisProcess if self.in_process else CaseProcess)(opening, progress=progress)

    @cached_property
    def earlier(self) -> tuple[PlannedItem, ...]:
        """What the run before this one planned; nothing if it left no plan that can be read."""
        try:
            return Plan.read(self.folder / PLAN).cases
        except (OSError, PlanError):
            return ()

    def is_probe(self, test: PlannedCase) -> bool:
        """Does the test measure the platform?"""
        return test.kernel.family.is_probe

    def patience(self, test: PlannedCase) -> float:
        """Seconds after which the case counts as hung. Hosts are shared, so it is far more than it should take."""
        return self.timeout or max(PATIENCE_SECONDS, PATIENCE * test.seconds)

    def placed(self, verdict: Verdict, test: PlannedCase, node_id: str) -> Verdict:
        """The verdict with where it belongs, and as a known bug if it is one: the spine does not know which test of
        which plan asked."""
        stamp = self.stamp.now()
        verdict = replace(
            verdict,
            suite=test.suite,
            test=node_id,
            tier=test.tier,
            plan=self.plan_id,
            row=test.row,
            run=stamp,
        )
        return self.known_bugs.judged(verdict, test)

    def write_reports(self) -> None:
        """junit.xml and summary.md from the record. What was planned and is not in it is lost, unless the session
        ended before its time."""
        from bitgate.report import render

        early = self.ended is not End.WHOLE
        with as_pytest_error():
            self.summary = render(
                self.folder, tier=self.tier, target=self.target.name, interrupted=early, notes=self.notes
            )

    def adopt(self, table: Path) -> Setting:
        """The setting of a table's rows; what it loads is loaded for the run. Raises UsageError."""
        setting = for_table(self.setting, table)
        if setting is not self.setting:
            self.setting = replace(self.setting, families=setting.families)
            self.project = self.project.loading(loads(table))
        return setting


RUN = pytest.StashKey[Run]()
BROKEN = "bitgate_broken"
"""Key of ``Run.broken`` in what a worker hands back."""


def progress(line: str) -> None:
    """Builds tell what they do on stderr, past pytest's capture, since the first one takes a minute."""
    print(line, file=sys.__stderr__, flush=True)


def start(config: pytest.Config) -> None:
    """Decide the run from its options and register the hooks. Raises pytest.UsageError."""
    from bitgate.plugin.collecting import Collecting
    from bitgate.plugin.ending import Ending
    from bitgate.plugin.gating import Gating

    with as_pytest_error():
        run = _decide(config)
        if run.resume:
            _resume(run)
    config.stash[RUN] = run
    plugins: list[object] = [Collecting(run), Gating(run)]
    if not run.is_worker:
        plugins.append(Ending(run))
    if run.is_controller:
        from bitgate.plugin.deaths import Deaths
        from bitgate.plugin.workers import Workers

        plugins += [Workers(run, config), Deaths(config)]
    for plugin in plugins:
        config.pluginmanager.register(plugin, f"bitgate-{type(plugin).__name__.lower()}")


@contextmanager
def as_pytest_error() -> Iterator[None]:
    """pytest shows its own UsageError as one line, and any other exception as a crash of pytest."""
    try:
        yield
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    except OSError as error:  # a full disk, a folder that may not be written
        what = f"{error.strerror or error}: free space, or set BITGATE_OUT to a folder that can be written"
        raise pytest.UsageError(f"{rooms.out_dir()}: {what}") from None


def _decide(config: pytest.Config) -> Run:
    option = config.option
    worker_input: dict[str, Any] = getattr(config, "workerinput", {})
    if worker_input:
        _share_machine(worker_input)
    name = option.bitgate_target
    # What is only planned may be for a target of another machine.
    target = (targets.absent if option.collectonly else targets.named)(name) if name else targets.best()
    if not worker_input and not option.collectonly:
        leases.devices(target)  # an outer list that leaves nothing is told before anything is built
    option.bitgate_target = target.name  # workers are to take the same one
    project = _project(config)
    _select_tier(option, project)
    timeout = _timeout(option.bitgate_case_timeout)
    shard, whole = sharding.stated(option.bitgate_shard, option.bitgate_plan)
    machine = durations.machine_of(target)
    setting = Setting(
        target=target.name,
        platform=target.platform,
        families=registry.families(project),
        kernel=option.bitgate_kernel,
        options=pairs(option.bitgate_option),
        schedule=_schedule(RACE if option.bitgate_race else option.bitgate_schedule, target),
        seed=_seed(option.bitgate_seed),
        tier=SMOKE if option.markexpr == SMOKE else "",
        # Every shard must come to the same parts, so what one machine has learned is left out.
        durations=durations.carried(target.name, project.shelves)
        if shard
        else durations.load(target.name, machine, project.shelves),
        loaded=loaded_names(project.runs_on),
    )
    folder = rooms.out_dir() / target.name / (shard.folder if shard else "")
    os.environ["BITGATE_OUT"] = str(rooms.out_dir())  # tests may change the folder; workers start in it
    return Run(
        target=target,
        setting=setting,
        tier=option.bitgate_tier or "",
        folder=folder,
        project=project,
        timeout=timeout,
        resume=option.bitgate_resume,
        in_process=option.bitgate_in_process,
        select=_selection(option.bitgate_select),
        record_start=worker_input.get("bitgate_record_start", 0),
        worker=worker_input.get("workerid", "main"),
        is_worker=bool(worker_input),
        is_controller=not worker_input and _has_workers(option) and not option.collectonly,
        stamp=_stamp(shard, bool(worker_input)),
        shard=shard,
        whole=whole,
        builds_ahead=not option.maxfail or bool(worker_input) or _has_workers(option),
    )


def _stamp(shard: Shard | None, is_worker: bool) -> Stamp:
    if is_worker:
        return stamps.handed_down()
    stamp = stamps.begin(str(shard or ""))
    stamps.hand_down(stamp)
    return stamp


def _has_workers(option: Any) -> bool:
    """True with xdist and -n or --tx."""
    return bool(getattr(option, "tx", None)) and option.dist != "no"


def _share_machine(worker_input: Mapping[str, Any]) -> None:
    """A worker's part of the machine: its own GPU, before any library looks for one; its share of a stated bound."""
    variable, token = worker_input.get("bitgate_lease", ("", ""))
    if variable:
        os.environ[variable] = token
    if os.environ.get("BITGATE_THREADS"):
        os.environ["BITGATE_THREADS"] = str(max(1, rooms.threads() // int(worker_input["workercount"])))


def _resume(run: Run) -> None:
    from bitgate.plugin import record

    if run.is_worker:
        run.done = record.handed_down(run)
        return
    if run.folder.is_dir():
        record.claim(run)
    run.done = record.settled(run)
    run.record_start = run.results.stat().st_size if run.results.is_file() else 0
    if run.is_controller:
        record.hand_down(run)


def _project(config: pytest.Config) -> Project:
    """That of the suites which the command line names, else of the current folder."""
    places = (config.invocation_params.dir / str(argument).partition("::")[0] for argument in config.args)
    return with_operations(find(*places).loading(to_load(map(Path, config.option.bitgate_load))))


def _select_tier(option: Any, project: Project) -> None:
    """``--tier`` is ``-m``; and a plain ``-m smoke`` names a tier."""
    stated = option.markexpr or ""
    if option.bitgate_tier is not None:
        project.check_tier(option.bitgate_tier)
    if option.bitgate_tier and option.bitgate_tier not in stated:
        option.markexpr = f"({stated}) and {option.bitgate_tier}" if stated else option.bitgate_tier
    elif stated in project.tiers:
        option.bitgate_tier = stated


def _schedule(stated: str, target: Target) -> str:
    if not stated:
        return ""
    if not re.fullmatch(SCHEDULE_PATTERN, stated):
        raise UsageError(f"--schedule {stated}: give {SCHEDULE_WORDS}")
    if target.platform != "host":
        what = "--race" if stated == RACE else f"--schedule {stated}"
        raise UsageError(f"{what}: {target.name} owns its schedule; schedules are for --target host")
    return stated


def _seed(stated: str | None) -> int | None:
    if stated is None or re.fullmatch(r"\d{1,18}", stated):
        return None if stated is None else int(stated)
    raise UsageError(f"--seed {stated}: give a number from 0 up")


def _timeout(stated: str | None) -> float | None:
    if stated is None:
        return None
    if not re.fullmatch(r"\d+(\.\d+)?", stated) or float(stated) == 0:
        raise UsageError(f"--case-timeout {stated}: give seconds, more than 0")
    return float(stated)


def _selection(file: str | None) -> frozenset[str]:
    if not file:
        return frozenset()
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"--select {file}: no such file; give one with exact ids, one a line")
    try:
        lines = read_bytes(path).decode().splitlines()
    except (OddInput, UnicodeDecodeError) as error:
        raise UsageError(f"--select {file}: {error}; give a text with exact ids, one a line") from None
    ids = frozenset(line.strip() for line in lines if line.strip() and line[0] != "#")
    if not ids:
        raise UsageError(f"--select {file}: holds no ids, and an empty selection would pass for a green run")
    return ids
