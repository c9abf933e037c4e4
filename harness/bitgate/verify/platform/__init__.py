"""Probes of the platform: is what every kernel takes for granted true of this target?

Each probe is a function of a Workbench that yields a Finding for each thing that is not as declared. The kernels behind
it are the instances of kernels/platform_probe; data and judgement are here, in one place for all platforms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bitgate.verify.platform.accumulators import accumulators
from bitgate.verify.platform.device import atomics, lds, wave
from bitgate.verify.platform.lanes import lanes
from bitgate.verify.platform.subnormals import subnormals
from bitgate.verify.platform.workbench import Finding, Fragment, Workbench

PROBES: dict[str, Callable[[Workbench], Iterable[Finding]]] = {
    "wave": wave,
    "lds": lds,
    "atomics": atomics,
    "lanes": lanes,
    "accumulators": accumulators,
    "subnormals": subnormals,
}
"""By instance of the family ``platform_probe``."""

NEEDS = {"lanes": ("wave",), "accumulators": ("lanes",), "subnormals": ("lanes",)}
"""Probes that say nothing new once another one is red."""


def sentence_of(findings: Iterable[Finding]) -> str:
    """All findings in one line; those that are true of several fragments once, with the first one's name."""
    subjects: dict[str, list[str]] = {}
    for finding in findings:
        subjects.setdefault(finding.text, []).append(finding.subject)
    return "; ".join(_told(text, names) for text, names in subjects.items())


def _told(text: str, names: list[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}: {text}" if names[0] else text


__all__ = ["NEEDS", "PROBES", "Finding", "Fragment", "Workbench", "sentence_of"]
