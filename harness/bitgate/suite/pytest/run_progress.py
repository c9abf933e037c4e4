"""The progress of ``bitgate run`` on a terminal: one bar by the seconds that cases are known to take, not dots."""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

from bitgate.core.progress import NoBar, ProgressBar, progress_bar
from bitgate.suite.pytest.collecting import planned_test

LEAST_SECONDS = 0.001
"""What a test counts for of which nothing is known, so that every one moves the bar."""


class RunProgress:
    """Plugin with the bar of a run. A test counts as many seconds as its case is estimated to take."""

    def __init__(self) -> None:
        self._bar: ProgressBar = NoBar()
        self._weights: dict[str, float] = {}
        self._total = 0
        self._seconds = 0.0
        self._done = self._red = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        if session.config.option.verbose > 0 or session.config.option.collectonly:
            return (yield)
        for item in session.items:
            test = planned_test(item)
            self._weights[item.nodeid] = max(test.seconds if test else 0.0, LEAST_SECONDS)
        self._total = len(self._weights)
        with progress_bar("run", sum(self._weights.values()), sys.__stderr__) as self._bar:
            try:
                return (yield)
            finally:
                self._bar = NoBar()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> Generator[None, tuple[str, str, object], tuple[str, str, object]]:
        """Keep the category of each report; its letter would break the bar's line."""
        found = yield
        return found if isinstance(self._bar, NoBar) else (found[0], "", "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._red += report.failed
        if report.when != "teardown":
            return
        self._done += 1
        self._seconds += self._weights.get(report.nodeid, 0.0)
        red = f", {self._red} red" if self._red else ""
        self._bar.reach(self._seconds, f"{self._done} of {self._total} tests{red}")
