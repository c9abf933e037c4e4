"""The end of a run: how it came about, the reports from its record, and what is learned for the next one."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from bitgate.core import compute_sanitizer
from bitgate.core.untrusted import message
from bitgate.model import case_id
from bitgate.results.blackbox import left_behind, remember_deaths
from bitgate.results.record import RecordError, read
from bitgate.suite import durations
from bitgate.suite.pytest.run import RunEnd, TestRun, progress
from bitgate.suite.session_entry import interrupt

if TYPE_CHECKING:
    from bitgate.results.report.ledger import MergedNight

CONDITIONS = 6
"""Conditions of failures that the end of a run shows; summary.md has all."""


class Ending:
    """Hooks of the process that answers for the run."""

    def __init__(self, run: TestRun) -> None:
        self.run = run
        # Python takes signals in its main thread only; a pytest in another thread keeps the default.
        self._takes_signals = threading.current_thread() is threading.main_thread()
        self._default = signal.getsignal(signal.SIGTERM)
        if self._takes_signals:
            signal.signal(signal.SIGTERM, interrupt)

    def pytest_unconfigure(self) -> None:
        if self.run.lock is not None:
            self.run.lock.release()
        if self._takes_signals:
            signal.signal(signal.SIGTERM, self._default)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """pytest raises kin of KeyboardInterrupt for its own decisions, too."""
        said = str(excinfo.value)
        if excinfo.type is KeyboardInterrupt or excinfo.errisinstance(pytest.exit.Exception) or "keyboard" in said:
            self.run.ended = RunEnd.INTERRUPTED
        else:
            self.run.ended = RunEnd.UNCOLLECTED if "during collection" in said else RunEnd.STOPPED

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """After the workers are gone."""
        _spare_hypothesis(session.config)
        if self.run.plan is None or session.config.option.collectonly:
            return
        if session.shouldfail or session.shouldstop:
            self.run.ended = self.run.ended if self.run.ended is not RunEnd.WHOLE else RunEnd.STOPPED
        if self.run.ended is RunEnd.INTERRUPTED:
            # A worker that is not waited for, and a Ctrl-C right after its start, leave a case that killed no process.
            for box in left_behind(self.run.folder):
                box.remove()
        elif self.run.ended is RunEnd.WHOLE:
            with suppress(OSError):  # the reports say what is wrong with the folder
                remember_deaths(self.run.folder, Counter())
        gc.disable()  # what was read is looked at until the end
        try:
            night = self.run.write_reports()
            if self.run.results.is_file():
                self._learn(night)
        finally:
            gc.enable()
        if self.run.broken:
            raise pytest.UsageError(self.run.broken)
        gc.freeze()  # pytest looks for garbage five times at its end; what is left now goes with the process

    def _learn(self, night: MergedNight) -> None:
        """Remember the seconds of cases, unless a sanitizer took most of them.

        Seconds are an aid: a cache that cannot be written, or a damaged record, is reported, and decides nothing.
        """
        if compute_sanitizer.tool():
            return
        try:
            target = self.run.target
            damaged = any(source.flaws for source in night.sources)
            recorded = read(self.run.results) if damaged else night.verdicts  # a line that is cut is no damage
            fresh = [one for one in recorded if (one.test, one.key) not in self.run.done]
            ran = {self.run.tests[one.test].problem for one in fresh if one.test in self.run.tests}
            work = {case_id(problem): durations.work_of(problem) for problem in ran}
            durations.remember(target.name, durations.machine_of(target), fresh, work)
        except (OSError, RecordError) as error:
            progress(f"the seconds of this run are not kept: {error}")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from bitgate.results.report.annotations import GitHubReport, on_github
        from bitgate.results.report.report import ReportedRun

        summary = self.run.summary
        if summary is None:
            return
        counts = ", ".join(f"{count} {outcome}" for outcome, count in summary.outcomes.items())
        terminalreporter.write_sep("=", f"bitgate: {summary.headline}")
        cases = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in summary.counts.items())
        terminalreporter.write_line(f"cases: {cases}; verdicts: {counts or 'none'}; reports are in {self.run.folder}")
        for condition in summary.conditions[:CONDITIONS]:
            terminalreporter.write_line(message(condition.line))
        for note in self.run.notes:
            terminalreporter.write_line(note)
        if on_github():
            run = ReportedRun((), summary)
            GitHubReport().write(run, self.run.folder, terminalreporter.write_line)
        if self.run.in_process:
            terminalreporter.write_line(
                "kernels ran in pytest's own process (--in-process): this run vouches for nothing"
            )


def _spare_hypothesis(config: pytest.Config) -> None:
    """Disable Hypothesis' reports.

    Its plugin, where it is installed, imports all of it at the end of a run, to look for reports that no test of this
    run has written.
    """
    if "hypothesis" not in sys.modules and (plugin := config.pluginmanager.get_plugin("hypothesispytest")):
        config.pluginmanager.unregister(plugin)
