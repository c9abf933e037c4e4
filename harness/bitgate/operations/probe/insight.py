"""What is said of a probe: its findings."""

from __future__ import annotations

from bitgate.device.device import Device
from bitgate.kernel.runner import LibraryRunner
from bitgate.operation.insight import Insight
from bitgate.operation.measurement import Measurement
from bitgate.operations.probe.problem import ProbeProblem
from bitgate.platform_probe import PROBES, Measured, Workbench


class ProbeInsight(Insight):
    """What is said of a probe."""

    def measurement(
        self, problem: ProbeProblem, instance: str, device: Device, runner: LibraryRunner
    ) -> Measurement | None:
        return Measured(Workbench(device, runner.library), PROBES[instance])
