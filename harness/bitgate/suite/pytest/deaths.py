"""Workers that die again and again: a crash ends one case, but a machine on which nothing lives ends the run."""

from __future__ import annotations

import pytest

from bitgate.suite.pytest.workers import stop

BARREN = 5
"""Deaths in a row that took no case with them: the workers do not even come to one."""

MOST = 100
"""Number of deaths that a run survives: starting a worker takes seconds, and kernels crash in separate processes."""


class Deaths:
    """Hooks of the process that hands out the tests."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.total = 0
        self.barren = 0

    def pytest_testnodedown(self, error: object) -> None:
        if not error:
            return
        self.total += 1
        self.barren += 1
        if self.barren > BARREN:
            stop(
                self.config, f"{self.barren} workers in a row died before they came to a case: run with -n0 to see why"
            )
        elif self.total > MOST:
            stop(
                self.config,
                f"{self.total} workers died in this run: something is wrong with the machine, not with a case",
            )

    def pytest_handlecrashitem(self) -> None:
        self.barren = 0

    def pytest_runtest_logreport(self) -> None:
        self.barren = 0
