"""The platform comes first: no case runs before the probes of its target have spoken, and none if one is red.

Workers share nothing but the record, so that is where each of them looks for what the probes said.
"""

from __future__ import annotations

import json
import time
from functools import cached_property

from bitgate.results.record import Outcome, Verdict
from bitgate.results.record.event import from_event
from bitgate.runtime.probe import NEEDS
from bitgate.suite.pytest.run import TestRun
from bitgate.verify.planned import PlannedCase

POLL_SECONDS = 0.02


class ProbeGate:
    """Results of a run's probes. A run that selects none of them has nothing to wait for."""

    def __init__(self, run: TestRun) -> None:
        self.run = run
        self._clear = False
        """True once all probes are green: that never changes."""

    @cached_property
    def probes(self) -> dict[str, PlannedCase]:
        """The run's probes by node id."""
        planned = {item.test for item in self.run.plan.cases} if self.run.plan else set()
        return {name: test for name, test in self.run.tests.items() if name in planned and self.run.is_probe(test)}

    def wait(self) -> None:
        """Return once every probe has a verdict, or one is red. Only a worker has to: another one may be at them."""
        limit = time.monotonic() + sum(self.run.patience(test) for test in self.probes.values())
        while self.run.is_worker and not self._clear and time.monotonic() < limit:
            verdicts = self._verdicts()
            if len(verdicts) == len(self.probes) or not all(verdict.green for verdict in verdicts.values()):
                return
            time.sleep(POLL_SECONDS)

    def obstacle(self, test: PlannedCase) -> str:
        """Return why the test cannot say anything on this platform; empty if there is no reason.

        A probe runs unless it needs one that is red.
        """
        if self._clear or not self.probes:
            return ""
        verdicts = self._verdicts()
        needs = NEEDS.get(test.key.instance, ()) if self.run.is_probe(test) else None
        red = [verdict for verdict in verdicts.values() if not verdict.green]
        for verdict in red:
            if needs is None or verdict.key.instance in needs:
                found = next((other for other in red if other.outcome is not Outcome.NOT_RUN), verdict)
                return f"the platform is not as declared: {found.key.instance}: {found.reason or found.outcome}"
        if needs is None and len(verdicts) < len(self.probes):
            missing = next(test.key.instance for name, test in self.probes.items() if name not in verdicts)
            return f"the platform's probe '{missing}' has come to no verdict"
        self._clear = needs is None
        return ""

    def _verdicts(self) -> dict[str, Verdict]:
        """Return the last verdict on each probe: of this run, or of the resumed one if that need not be repeated."""
        found: dict[str, Verdict] = {}
        if not self.run.results.is_file():
            return found
        kernels = [f'"kernel":"{test.key.kernel}"'.encode() for test in self.probes.values()]
        settled = {name for name, _ in self.run.done}
        offset = 0
        for line in self.run.results.read_bytes().split(b"\n")[:-1]:
            is_new, offset = offset >= self.run.record_start, offset + len(line) + 1
            if any(kernel in line for kernel in kernels):
                verdict = from_event(json.loads(line))
                if verdict.test in self.probes and (is_new or verdict.test in settled):
                    found[verdict.test] = verdict
        return found
