"""Names of targets: an architecture, and which of its features code is built with: ``gfx942:sramecc+:xnack-``.

That is LLVM's spelling, and HIP's for a device. A colon is no part of a file's name, so results, folders and reports
write ``gfx942_sramecc+_xnack-``; both are read wherever a target is named.

``host_for_gfx942`` is the host in the place of gfx942: a lab's set-up is tried with it before its GPUs are there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from bitgate.core.architecture import HOST, Architecture, Platform, architecture
from bitgate.core.errors import UsageError

STAND_IN = "host_for_"


@dataclass(frozen=True)
class TargetId:
    """``features`` are those that the name states, sorted: code for a target that does not state one is for both
    settings of it."""

    architecture: Architecture
    features: tuple[tuple[str, bool], ...] = ()
    in_place_of: str = ""
    """The name of the target whose place the host takes, if it takes one."""

    @property
    def name(self) -> str:
        """What it is called in results, and on disk."""
        own = "_".join((self.architecture.name, *self._settings))
        return f"{STAND_IN}{self.in_place_of}" if self.in_place_of else own

    @property
    def spelled(self) -> str:
        """What compilers and HIP call it."""
        return ":".join((self.architecture.name, *self._settings))

    @property
    def platform(self) -> Platform:
        return self.architecture.platform

    @property
    def _settings(self) -> list[str]:
        return [f"{feature}{'+' if on else '-'}" for feature, on in self.features]

    def runs_on(self, device: TargetId) -> bool:
        """Does code that is built for this target run on a device, or wherever code for another target does?

        It does on its own architecture and on a generic's members, unless both state a feature and differ in it.
        """
        of_device = device.architecture.name
        fits = of_device == self.architecture.name or of_device in self.architecture.members
        stated = dict(device.features)
        return fits and all(stated.get(feature, on) == on for feature, on in self.features)


@lru_cache(maxsize=256)
def target_id(text: str) -> TargetId:
    """The target of a name in either spelling; UsageError says what is unknown, and what would be right."""
    if text.startswith(STAND_IN):
        other = target_id(text.removeprefix(STAND_IN))
        if other.platform == "host":
            raise UsageError(f"target '{text}': the host takes the place of a GPU's target: host_for_gfx942")
        return TargetId(HOST, in_place_of=other.name)
    if text.startswith("sm_"):
        return TargetId(architecture(text))
    name, *stated = re.split("[:_]", text)
    row = architecture(name)
    features: dict[str, bool] = {}
    for word in stated:
        feature, sign = word[:-1], word[-1:]
        if feature not in row.features or sign not in ("+", "-") or feature in features:
            can = " or ".join(f"{name}:{one}+, {name}:{one}-" for one in row.features) or f"{name}: it has no features"
            raise UsageError(f"target '{text}': '{word}' is no feature of {name}, on or off, once: write {can}")
        features[feature] = sign == "+"
    return TargetId(row, tuple(sorted(features.items())))


def canonical(text: str) -> str:
    """A target's name in results, whichever way it is spelled; a name that is no target's as it stands."""
    try:
        return target_id(text).name
    except UsageError:
        return text


def architecture_of(target: str) -> Architecture:
    """The row of the table for a target in either spelling. UsageError as ``target_id``."""
    return target_id(target).architecture


def runs_on(built: str, device: str) -> bool:
    """As ``TargetId.runs_on``, of names; a name that is no target's runs nowhere."""
    try:
        return target_id(built).runs_on(target_id(device))
    except UsageError:
        return False


def in_place_of(target: str) -> str:
    """The target whose place the host takes under this name; empty for any other."""
    try:
        return target_id(target).in_place_of
    except UsageError:
        return ""
