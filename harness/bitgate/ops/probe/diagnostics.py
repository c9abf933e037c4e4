"""Diagnostics of a probe: its findings."""

from __future__ import annotations

from bitgate.kernel.runner import LibraryRunner
from bitgate.model.diagnostics import Diagnostics, Measurement
from bitgate.ops.probe.operation import ProbeProblem
from bitgate.runtime.device import Device
from bitgate.runtime.probe import PROBES, ProbeMeasurement, Workbench


class ProbeDiagnostics(Diagnostics):
    """The explanations of a probe: its measurement."""

    def measurement(
        self, problem: ProbeProblem, instance: str, device: Device, runner: LibraryRunner
    ) -> Measurement | None:
        return ProbeMeasurement(Workbench(device, runner.library), PROBES[instance])
