"""One GPU a worker: tokens of the devices that this run may see, lent to workers and taken back when they die."""

from __future__ import annotations

import os

from bitgate.device.targets import Target

VARIABLES = {"amd": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"), "nvidia": ("CUDA_VISIBLE_DEVICES",)}
"""What narrows the devices of a process, the one that we would set first."""


def devices(target: Target) -> tuple[str, tuple[str, ...]]:
    """The variable to set in a worker, and its value for each device of ``target``; none on the host.

    An outer list is somebody's reservation: its entries, indices or UUIDs, are lent as they stand.
    """
    variables = VARIABLES.get(target.platform, ())
    for variable in variables:
        outer = [token.strip() for token in os.environ.get(variable, "").split(",") if token.strip()]
        if outer:
            return variable, tuple(outer)
    names = _names(target.platform)
    indices = tuple(str(index) for index, name in enumerate(names) if name == target.name)
    return (variables[0], indices) if variables else ("", ())


def _names(platform: str) -> list[str]:
    """The target's name of every device of the platform, in the order in which its runtime counts them."""
    if platform == "amd":
        from rocm_bootstrap import detect_gpus

        return [str(gpu.target.name) for gpu in detect_gpus()]
    if platform == "nvidia":
        from bitgate.device import nvidia

        return [architecture for architecture, _ in nvidia.devices()]
    return []


class Leases:
    """Which device is free. A replaced worker gets the device of the one that died."""

    def __init__(self, target: Target) -> None:
        self.variable, self._free = devices(target)
        self._lent: dict[str, str] = {}

    def lend(self, worker: str) -> tuple[str, str]:
        """(variable, value) for the worker; empty strings if there is nothing to lend. More workers than devices
        share the first ones."""
        if not self._free and not self._lent:
            return "", ""
        taken = set(self._lent.values())
        free = [token for token in self._free if token not in taken] or list(self._free)
        self._lent[worker] = free[0]
        return self.variable, free[0]

    def take_back(self, worker: str) -> None:
        self._lent.pop(worker, None)
