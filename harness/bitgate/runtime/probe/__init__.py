"""Probes of the platform: they measure what every kernel takes for granted of the target.

Each probe is a function of a Workbench that yields a Deviation for each thing that is not as declared. Its kernels are
the instances of kernels/platform_probe; data and judgement are here, in one place for all platforms.
"""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.runtime.probe.arithmetic import accumulators, subnormals
from bitgate.runtime.probe.device import atomics, lds, wave
from bitgate.runtime.probe.lanes import lanes
from bitgate.runtime.probe.workbench import Deviation, Fragment, Probe, ProbeMeasurement, Workbench, sentence_of

PROBES: Mapping[str, Probe] = {
    "wave": wave,
    "lds": lds,
    "atomics": atomics,
    "lanes": lanes,
    "accumulators": accumulators,
    "subnormals": subnormals,
}
"""Probes by instance of the family ``platform_probe``."""

NEEDS = {"lanes": ("wave",), "accumulators": ("lanes",), "subnormals": ("lanes",)}
"""Probes that give no new information once another one is red."""

__all__ = ["NEEDS", "PROBES", "Deviation", "Fragment", "ProbeMeasurement", "Workbench", "sentence_of"]
