"""xdist: how many workers, which tests go where, and what becomes of the case whose worker died.

All that rests on xdist's own parts, which it may change, is in this file; pyproject bounds its version.
"""

from __future__ import annotations

import signal
from math import inf
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from bitgate.results.blackbox import BlackBox
from bitgate.results.record import Outcome, append
from bitgate.runtime import targets
from bitgate.suite.pytest import leases
from bitgate.suite.pytest.leases import Leases
from bitgate.suite.pytest.record import stand_in
from bitgate.suite.pytest.run import BROKEN, TestRun, as_pytest_error

RESTARTS = 1000
"""A crash ends one case, never the run; xdist would give up after four crashes a worker."""

EXIT_SECONDS = 2


class Workers:
    """Hooks of the process that hands out the tests."""

    def __init__(self, run: TestRun, config: pytest.Config) -> None:
        self.run = run
        self.leases = Leases(run.target)
        if config.option.maxworkerrestart is None:
            config.option.maxworkerrestart = str(RESTARTS)

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
        return ByProblem(config, log, self.run) if config.getvalue("dist") == "load" else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End without waiting for workers that are busy after Ctrl-C: what is worth keeping is on the record."""
        manager = getattr(session.config.pluginmanager.get_plugin("dsession"), "nodemanager", None)
        if manager is not None:
            manager.EXIT_TIMEOUT = EXIT_SECONDS

    def pytest_configure_node(self, node: WorkerController) -> None:
        node.workerinput["bitgate_lease"] = self.leases.lend(node.gateway.id)
        node.workerinput["bitgate_record_start"] = self.run.record_start

    def pytest_testnodedown(self, node: WorkerController) -> None:
        self.leases.take_back(node.gateway.id)
        self.run.broken = getattr(node, "workeroutput", {}).get(BROKEN, self.run.broken)

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        node: WorkerController = report.node
        box = BlackBox(self.run.folder, node.gateway.id)
        test = self.run.tests.get(crashitem)
        if test is None or crashitem not in box.tests():
            return  # the worker put a verdict on the record before it went: the case hung, or was over
        reason = f"worker {node.gateway.id} {_death(node)} while it ran this case"
        verdict = stand_in(self.run, test, crashitem, Outcome.CRASHED, reason)
        append(self.run.results, verdict)
        box.remove()
        if verdict.green:  # a known bug that takes its process with it
            report.outcome, report.longrepr = "skipped", (crashitem, 0, f"KNOWN_BUG: {verdict.reason}")
            return
        report.longrepr = f"{verdict.outcome}: {verdict.human}\n  {reason}\n  repro   {verdict.repro}"


class ByProblem(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """All tests of one problem go to one worker, which then makes its inputs and references once; the dearest problem
    goes first, so that no worker is left alone with it at the end."""

    def __init__(self, config: pytest.Config, log: Any, run: TestRun) -> None:
        super().__init__(config, log)
        self.run = run
        self._in_order = False

    def _split_scope(self, nodeid: str) -> str:
        """Return the case of ``suites/a/test_b.py::test_c[<case>__<instance>__<fill>]``; of other tests the module."""
        test = self.run.tests.get(nodeid)
        return test.case if test else nodeid.rsplit("::", 1)[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        if not self._in_order:
            for scope in sorted(self.workqueue, key=self._seconds, reverse=True):
                self.workqueue.move_to_end(scope)
            self._in_order = True
        super()._assign_work_unit(node)

    def _seconds(self, scope: str) -> float:
        tests = [test for node_id in self.workqueue[scope] if (test := self.run.tests.get(node_id))]
        if any(self.run.is_probe(test) for test in tests):
            return inf  # the others wait for what it says
        return sum(test.seconds for test in tests)

    def _reschedule(self, node: WorkerController) -> None:
        """Give a replaced worker work once it has collected; xdist would give it some before, if two died at once."""
        if node in self.registered_collections:
            super()._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Remove a worker without handing the case that killed it to the next one."""
        self._in_order = False  # what it had comes back
        workload = self.assigned_work[node]
        fatal: dict[str, bool] = next((unit for unit in workload.values() if not all(unit.values())), {})
        victim = next((node_id for node_id, over in fatal.items() if not over), None)
        if victim is not None:
            # First: what is left goes to the others at once. One that got the victim too would die of it while another
            # case is down for it, and that one would be lost.
            fatal[victim] = True
        for scope in [scope for scope, unit in workload.items() if all(unit.values())]:
            del workload[scope]
        super().remove_node(node)
        return victim


def count(config: pytest.Config) -> int:
    """Workers of ``-n auto``: one a GPU; on the host one a core, each then with one thread."""
    stated = config.option.bitgate_target
    with as_pytest_error():
        target = targets.named(stated) if stated else targets.best()
        return leases.count(target)


def stop(config: pytest.Config, why: str) -> None:
    """End the run: no worker is replaced any more."""
    session: Any = config.pluginmanager.get_plugin("dsession")
    if session is not None:
        session.shouldstop = why
        # It would go on replacing workers while it waits for the last of them to end.
        session._max_worker_restart = 0


def _death(node: WorkerController) -> str:
    """Describe how a worker's process ended, if that is known."""
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)
    if process is None:
        return "died"
    try:
        status = process.wait(timeout=2)
    except Exception:
        return "stopped answering"
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with status {status}"
