"""One GPU a worker: tokens of the devices that this run may see, lent to workers and taken back when they die."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass

from bitgate.core import paths
from bitgate.core.emulation import EMULATED
from bitgate.core.errors import UsageError
from bitgate.core.targets import runs_on
from bitgate.runtime.targets import Target

VARIABLES = {
    "amd": ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
}
"""What narrows the devices of a process, the one that acts last first: HIP counts in what ROCr has left, and takes
CUDA's variable where its own is not set. The last one is what we set where nothing is narrowed."""


@dataclass(frozen=True)
class Devices:
    """The variable to set in a worker, and its value for each device; none on the host."""

    variable: str = ""
    tokens: tuple[str, ...] = ()


def devices(target: Target) -> Devices:
    """Return the devices of ``target`` that this run may use.

    An outer list is a reservation: its entries, indices, UUIDs or MIG instances, are lent as they stand, each
    once. UsageError if the list is empty, or leaves none of the target's.
    """
    variables = VARIABLES.get(target.platform, ())
    if not variables or target.kind == EMULATED:  # an emulator's daemon shares one device, else each process has one
        return Devices()
    names = _names(target.platform)
    for outer in variables:
        if outer not in os.environ:
            continue
        tokens = _tokens(os.environ[outer])
        if not tokens:
            raise UsageError(f"{outer} is set and names no device: name some in it, or take it out of the environment")
        seen = _seen(outer, tokens, target.platform, names)
        mine = tuple(dict.fromkeys(token for token, name in seen if not name or runs_on(target.name, name)))
        if not mine:
            left = ", ".join(dict.fromkeys(name for _, name in seen)) or "no device that is there"
            raise UsageError(f"{outer}={os.environ[outer]} leaves no {target.name} (it leaves {left})")
        return Devices(outer, mine)
    indices = tuple(str(index) for index, name in enumerate(names) if runs_on(target.name, name))
    return Devices(variables[-1], indices)


def _tokens(text: str) -> tuple[str, ...]:
    """Return the entries of a list. As for the runtimes, what follows a negative number does not count."""
    tokens = [token.strip() for token in text.split(",") if token.strip()]
    end = next((place for place, token in enumerate(tokens) if token.startswith("-")), len(tokens))
    return tuple(tokens[:end])


def _seen(outer: str, tokens: tuple[str, ...], platform: str, names: list[str]) -> list[tuple[str, str]]:
    """Return each entry with its target's name, empty if that is unknown here."""
    if platform == "nvidia":
        # The driver has applied the list already: its devices are the entries, up to the first that is not there. Of
        # MIG instances a process sees one only, whatever the list says.
        if any(token.startswith("MIG-") for token in tokens):
            return [(token, "") for token in tokens]
        return list(zip(tokens, names, strict=False))
    # The list of ROCr, if there is one, is what indices of the others count in.
    rocr = _tokens(os.environ.get("ROCR_VISIBLE_DEVICES", "")) if outer != "ROCR_VISIBLE_DEVICES" else ()
    counted = [_name_of(token, names) for token in rocr] if rocr else list(names)
    return [(token, _name_of(token, counted)) for token in tokens if not _is_beyond(token, counted)]


def _name_of(token: str, names: list[str]) -> str:
    return names[int(token)] if token.isdecimal() and int(token) < len(names) else ""


def _is_beyond(token: str, names: list[str]) -> bool:
    """Return whether an index is of no device; where none could be found at all, it is not known to be."""
    return bool(names) and token.isdecimal() and int(token) >= len(names)


def _names(platform: str) -> list[str]:
    """Return the target's name of each of the platform's devices, in the order of its runtime."""
    if platform == "amd":
        from bitgate.runtime.targets import amd_names

        return amd_names()
    if platform == "nvidia":
        from bitgate.runtime import nvidia

        return [architecture for architecture, _ in nvidia.devices()]
    return []


AUTO = "auto"
MOST, MOST_A_CORE = 64, 4
"""Processes side by side: each loads its runtime and libraries, some 100 MB."""


def count(target: Target, stated: str = AUTO) -> int:
    """Return how many processes run kernels: as stated, or with ``auto`` one a GPU, on the host one a core.

    UsageError for what is no number, or more than any machine like this one has a use for.
    """
    if stated == AUTO:
        return len(devices(target).tokens) or paths.threads()
    if not stated.isdecimal():
        raise UsageError(f"--processes {stated}: write a number, or {AUTO}")
    most = max(MOST, MOST_A_CORE * (os.cpu_count() or 1))
    if len(stated) > len(str(most)) or int(stated) > most:
        raise UsageError(f"--processes {stated}: {most} are the most on this machine; {AUTO} is one a GPU or core")
    return int(stated)


class Leases:
    """Leases of devices to workers. A replaced worker gets the device of the one that died."""

    def __init__(self, target: Target) -> None:
        self._devices = devices(target)
        self._lent: dict[str, str] = {}

    def lend(self, worker: str) -> tuple[str, str]:
        """(variable, value) for the worker; empty strings if there is nothing to lend. More workers than devices share
        them evenly."""
        tokens = self._devices.tokens
        if not tokens:
            return "", ""
        used = Counter(self._lent.values())
        self._lent[worker] = min(tokens, key=lambda token: used[token])
        return self._devices.variable, self._lent[worker]

    def take_back(self, worker: str) -> None:
        self._lent.pop(worker, None)
