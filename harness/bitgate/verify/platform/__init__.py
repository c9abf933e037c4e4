"""Probes of the platform: is what every kernel takes for granted true of this target?

Each probe is a function of a Workbench that yields sentences, one for each thing that is not as declared. The kernels
behind it are the instances of kernels/platform_probe; data and judgement are here, in one place for all platforms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bitgate.verify.platform.accumulators import accumulators
from bitgate.verify.platform.device import atomics, lds, wave
from bitgate.verify.platform.lanes import lanes
from bitgate.verify.platform.subnormals import subnormals
from bitgate.verify.platform.workbench import Fragment, Workbench

PROBES: dict[str, Callable[[Workbench], Iterable[str]]] = {
    "wave": wave,
    "lds": lds,
    "atomics": atomics,
    "lanes": lanes,
    "accumulators": accumulators,
    "subnormals": subnormals,
}
"""By instance of the family ``platform_probe``."""

__all__ = ["PROBES", "Fragment", "Workbench"]
