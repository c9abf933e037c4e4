"""What is said of a probe: its findings."""

from __future__ import annotations

from bitgate.device.device import Device
from bitgate.kernel.library import KernelLibrary
from bitgate.operation.insight import Insight
from bitgate.operation.measurement import Measurement
from bitgate.operations.probe.problem import ProbeProblem
from bitgate.platform import PROBES, Measured, Workbench


class ProbeInsight(Insight):
    """What is said of a probe."""

    def measurement(
        self, problem: ProbeProblem, instance: str, device: Device, library: KernelLibrary
    ) -> Measurement | None:
        return Measured(Workbench(device, library), PROBES[instance])
