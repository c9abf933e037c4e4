"""Checks that a case fits into memory, the host's and the device's, before anything is allocated: a process that takes
too much is killed, and a full device fails cases that had nothing to do with it."""

from __future__ import annotations

import psutil

from bitgate.model import Problem
from bitgate.runtime.buffers import GUARD_BYTES
from bitgate.runtime.device import Device

SMALL = 256 << 20
"""Cases below this many bytes are not checked."""


def memory_shortage(problem: Problem, on_host: bool) -> str:
    """Return one sentence if the case does not fit into host memory, empty if it does."""
    tensors = problem.tensors
    results = sum(tensors[role].bytes for role in problem.outputs)
    # Host copies of all tensors, poison and results that were read back; on the host the device's memory as well.
    needed = sum(tensor.bytes for tensor in tensors.values()) * (2 if on_host else 1) + 2 * results
    if needed < SMALL:
        return ""
    available = psutil.virtual_memory().available
    if needed <= available:
        return ""
    return f"the case needs about {needed / 2**30:.1f} GiB of host memory, {available / 2**30:.1f} GiB are available"


def device_shortage(problem: Problem, device: Device, workspace: int, references: int = 0) -> str:
    """Return one sentence if the device cannot hold the case's tensors, its workspace and ``references`` more results;
    empty if it can."""
    sizes = [tensor.bytes for tensor in problem.tensors.values()] + [workspace]
    sizes += [problem.tensors[role].bytes for role in problem.outputs] * references
    needed = sum(sizes) + 4 * GUARD_BYTES * len(sizes)
    if needed < SMALL:
        return ""
    free = device.free_memory()
    if device.host is not None:  # its memory is the host's own, which other processes use too
        free = min(free, psutil.virtual_memory().available)
    if needed <= free:
        return ""
    return f"the case needs {needed / 2**30:.2f} GiB of device memory, {free / 2**30:.2f} GiB are free"
