"""The fixture ``bitgate``: a plain test verifies a case, and its verdict is recorded and reported like any other.

Nothing here is imported before a test asks for the fixture, so that other pytest runs pay nothing for it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import pytest
from filelock import FileLock

from bitgate.core import paths, settings
from bitgate.core.choices import REGRESSION, SMOKE
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.project_file import find
from bitgate.kernel.loading import to_load, with_operations
from bitgate.results.record import Outcome, Stamp, Verdict, append, verdict_on
from bitgate.results.record import identity as stamps
from bitgate.results.targets_file import tolerated_by
from bitgate.runtime import targets
from bitgate.suite.planning import Setting
from bitgate.suite.pytest.gating import contradicted, first_line, in_words
from bitgate.suite.pytest.lock import lock_folder
from bitgate.suite.pytest.outcome import GREEN, INTERRUPTED, NOTHING, RED, USAGE
from bitgate.suite.pytest.run import PLAN, PREVIOUS, RUN, RunEnd, TestRun, progress
from bitgate.verify.module_check import needs_gpu
from bitgate.verify.one_case import KernelArgument, OneCase
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening

CHECKED = "bitgate_checked"
"""Key (pytest_plugin.py asks for it) of the targets that a worker of xdist has verdicts on, in what it hands back."""
SESSION = ".session"
"""File in a folder of results: the xdist session whose workers write there."""
MOST_PROCESSES = 3
"""Processes for kernels that wait for further tests. Tests that load other declarations need others."""
MADE = pytest.StashKey[list[Verdict]]()
"""Verdicts of a test that are not on the record yet."""


def checks_of(config: pytest.Config) -> Checks:
    """Return the checks of this pytest session, which are registered as a plugin when first asked for."""
    found: Checks | None = config.pluginmanager.get_plugin("bitgate-checks")
    if found is None:
        found = Checks(config)
        config.pluginmanager.register(found, "bitgate-checks")
    return found


class Check:
    """The fixture ``bitgate`` of one test."""

    def __init__(self, checks: Checks, item: pytest.Item) -> None:
        self._checks = checks
        self._item = item

    def check(
        self,
        kernel_or_case: KernelArgument,
        case: str | None = None,
        *,
        kernel: KernelArgument = None,
        target: str | None = None,
        fill: str = "exact",
        seed: int = 0,
        options: Mapping[str, str] | None = None,
        refused: str = "",
    ) -> Verdict:
        """Verify a case on every named kernel instance that takes it; fail the test at the first red verdict.

        It is called as ``check(case, kernel=...)`` or as ``check(kernel, case)``.

        Parameters
        ----------
        case : a case id.
        kernel : a glob over ``family.instance``, the path of a declaration, or a function ``kernel(problem, tensors)``.
            Default: the kernels of the project around the tests, or all of bitgate's that are no reference.
        target : ``host`` or a GPU's target; default: that of the run, else the best one present.
        fill, seed : the data.
        options : kernel options by name; the others keep their production value.
        refused : the clause by which every kernel must refuse the case.

        Returns
        -------
        The verdict of the first instance.
        """
        __tracebackhide__ = True
        stated, which = (kernel_or_case, kernel) if case is None else (case, kernel_or_case)
        try:
            if not isinstance(stated, str) or (case is not None and kernel is not None):
                raise UsageError("give a case id and one kernel: check(case, kernel=...) or check(kernel, case)")
            run = self._checks.run_on(target)
            request = OneCase(stated, which, run.target.name, run.project, fill, seed, options or {}, refused)
            verdicts = [self._verdict(run, request, planned) for planned in request.planned()]
            return verdicts[0]
        except UsageError as error:
            self._checks.usage_errors += 1
            wrong = str(error)
        pytest.fail(wrong, pytrace=False)

    def _verdict(self, run: TestRun, request: OneCase, planned: PlannedCase) -> Verdict:
        __tracebackhide__ = True
        item = self._item
        tier = next((name for name in (SMOKE, REGRESSION) if item.get_closest_marker(name)), "")
        planned = replace(planned, suite=item.path.parent.name, tier=tier)
        if planned.no_kernel:
            verdict = verdict_on(planned, run.target, Outcome.NOT_RUN, planned.no_kernel)
        else:
            verdict = self._checks.kernels(run, request.loaded).verify(planned)
        verdict = run.placed(verdict, planned, item.nodeid)
        item.stash.setdefault(MADE, []).append(verdict)
        is_for_gpus = verdict.outcome is Outcome.NOT_RUN and not planned.no_kernel
        is_for_gpus = is_for_gpus and needs_gpu(planned.kernel, run.target.platform)
        if is_for_gpus or (verdict.green and verdict.outcome in (Outcome.NOT_RUN, Outcome.KNOWN_BUG)):
            pytest.skip(f"{verdict.outcome}: {verdict.reason}")
        if not verdict.green:
            pytest.fail(in_words(verdict), pytrace=False)
        return verdict


class Checks:
    """The verdicts that plain tests of one session ask for, and their records: a folder for each target."""

    def __init__(self, config: pytest.Config) -> None:
        settings.check()
        self.config = config
        self.usage_errors = 0
        """Tests that failed since they asked for what cannot be."""
        self._runs: dict[str, TestRun] = {}
        self._processes: dict[tuple[str, Project], CaseProcess] = {}
        self._input: Mapping[str, Any] = getattr(config, "workerinput", {})

    @property
    def is_controller(self) -> bool:
        """Does this process hand tests out to workers?"""
        return not self._input and bool(getattr(self.config.option, "tx", None)) and self.config.option.dist != "no"

    @cached_property
    def suites(self) -> TestRun | None:
        """The run of suites in this session, if there is one."""
        return self.config.stash.get(RUN, None)

    @cached_property
    def project(self) -> Project:
        """The project around the tests of the command line, with what the environment loads."""
        if self.suites is not None:
            return self.suites.project
        places = (self.config.invocation_params.dir / str(name).partition("::")[0] for name in self.config.args)
        return with_operations(find(*places).loading(to_load(None)))

    @cached_property
    def stamp(self) -> Stamp:
        """The stamp of the session, the same in all workers of xdist."""
        own, session = stamps.begin(), str(self._input.get("testrunuid", ""))
        run = f"local-{session}" if own.id == f"local-{own.job}" else own.id
        return replace(own, job=session, id=run) if session else own

    def run_on(self, name: str | None) -> TestRun:
        """Return the run on a target, which begins when first asked for. UsageError if the target is not present."""
        if self.suites is not None and name in (None, self.suites.target.name):
            return self.suites
        target = targets.named(name) if name else targets.best()
        if target.name not in self._runs:
            run = self._runs[target.name] = self._begin(target)
            if not self.is_controller:
                self._claim(run)
        return self._runs[target.name]

    def _begin(self, target: targets.Target) -> TestRun:
        project = self.project
        run = TestRun(
            target=target,
            setting=Setting(target.name, target.platform, {}),
            tier="",
            folder=paths.out_dir() / target.name,
            project=project,
            timeout=None,
            resume=False,
            select=None,
            worker=self._input.get("workerid", "main"),
            is_worker=bool(self._input),
            is_controller=self.is_controller,
            stamp=self.stamp,
            tolerated=tolerated_by(project, target.name),
        )
        run.known_bugs.add_project(project)
        return run

    def _claim(self, run: TestRun) -> None:
        """Put an earlier record aside, once a session: the workers of one share the folder."""
        session = str(self._input.get("testrunuid", ""))
        if not session:
            run.lock = lock_folder(run.folder)
            _put_aside(run)
            return
        run.folder.mkdir(parents=True, exist_ok=True)
        note = run.folder / SESSION
        with FileLock(run.folder / f"{SESSION}.lock"):
            if not note.is_file() or note.read_text() != session:
                _put_aside(run)
                note.write_text(session)

    def kernels(self, run: TestRun, project: Project) -> CaseProcess:
        """Return the process for kernels of a target and a project, which is kept for the tests that follow."""
        key = run.target.name, project
        process = self._processes.pop(key, None) or CaseProcess(Opening(run.target.name, project), progress=progress)
        if len(self._processes) == MOST_PROCESSES:
            self._processes.pop(next(iter(self._processes))).end()
        self._processes[key] = process  # the last one used is the last to go
        return process

    def answer_for(self, names: Iterable[str]) -> None:
        """Report, at the end, on targets that a worker of xdist has verdicts on."""
        for name in names:
            self.run_on(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Record the verdicts of the test, with what the rest of it found: the record and pytest never disagree."""
        report = yield
        made = item.stash.get(MADE, [])
        if made and report.failed and all(verdict.green for verdict in made):
            made[-1] = contradicted(made[-1], item.name, first_line(report))
        for verdict in made:
            append(self.run_on(verdict.key.target).results, verdict)
        made.clear()
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the reports, and end with bitgate's exit codes."""
        for process in self._processes.values():
            process.end()
        if self._input:
            with suppress(AttributeError):  # a worker that is ending has nowhere to leave it
                self.config.workeroutput[CHECKED] = sorted(self._runs)  # type: ignore[attr-defined]
            return
        for run in self._runs.values():
            run.ended = RunEnd.INTERRUPTED if exitstatus == pytest.ExitCode.INTERRUPTED else RunEnd.WHOLE
            run.write_reports()
        if self.suites is None:
            session.exitstatus = self._exit_code(session, int(exitstatus))

    def _exit_code(self, session: pytest.Session, status: int) -> int:
        if status == pytest.ExitCode.INTERRUPTED:
            return INTERRUPTED
        if status in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
            return USAGE
        if status == pytest.ExitCode.TESTS_FAILED and self.usage_errors == session.testsfailed:
            return USAGE
        codes = [run.summary.exit_code for run in self._runs.values() if run.summary]
        if status != pytest.ExitCode.OK:
            return status
        return RED if RED in codes else NOTHING if codes and GREEN not in codes else GREEN

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what became of the verdicts, a line for each target."""
        for run in self._runs.values():
            if run.summary is not None:
                terminalreporter.write_sep("=", f"bitgate: {run.summary.headline}; reports are in {run.folder}")

    def pytest_unconfigure(self) -> None:
        """Let go of the folders."""
        for run in self._runs.values():
            if run.lock is not None:
                run.lock.release()


def _put_aside(run: TestRun) -> None:
    if run.results.exists():
        run.results.replace(run.folder / PREVIOUS)
    (run.folder / PLAN).unlink(missing_ok=True)  # of a run of suites: its cases would count as lost
    run.results.touch()
