"""Checks before anything is allocated: whether a case fits into memory, and whether its library's workspace is
plausible.

A process that takes too much is killed, and a full device fails cases that had nothing to do with it.
"""

from __future__ import annotations

from collections.abc import Callable

import psutil

from bitgate.core import memory_group
from bitgate.kernel.declaration import Dispatch
from bitgate.model import Problem
from bitgate.runtime.buffers import GUARD_BYTES

SMALL = 256 << 20
"""Cases below this many bytes are not checked."""


def memory_shortage(problem: Problem, on_host: bool) -> str:
    """Return one sentence if the case does not fit into host memory, empty if it does."""
    needed = _needed(problem, on_host)
    if needed < SMALL:
        return ""
    available = psutil.virtual_memory().available
    if needed <= available:
        return ""
    return f"the case needs about {needed / 2**30:.1f} GiB of host memory, {available / 2**30:.1f} GiB are available"


def limit_shortage(problem: Problem, on_host: bool) -> str:
    """Return one sentence if the case needs more host memory than the job may take, empty if it does not.

    The machine may have it: such a case is not refused, but was given too little.
    """
    needed, limit = _needed(problem, on_host), memory_group.limit()
    if needed < SMALL or limit is None or needed <= limit:
        return ""
    return (
        f"out of memory: the case needs about {needed / 2**30:.1f} GiB of host memory, its job may take"
        f" {limit / 2**30:.1f} GiB: give it more (--option mem=...)"
    )


def _needed(problem: Problem, on_host: bool) -> int:
    """Return the bytes of host copies of all tensors, poison and results that were read back.

    On the host the device's memory counts as well.
    """
    tensors = problem.tensors
    results = sum(tensors[role].bytes for role in problem.outputs)
    return sum(tensor.bytes for tensor in tensors.values()) * (2 if on_host else 1) + 2 * results


def device_shortage(problem: Problem, free_memory: Callable[[], int], on_host: bool, workspace: int) -> str:
    """Return one sentence if the device cannot hold the case's tensors and its workspace; empty if it can.

    ``free_memory`` is asked for large cases only.
    """
    sizes = [tensor.bytes for tensor in problem.tensors.values()] + [workspace]
    needed = sum(sizes) + 4 * GUARD_BYTES * len(sizes)
    if needed < SMALL:
        return ""
    free = free_memory()
    if on_host:  # its memory is the host's own, which other processes use too
        free = min(free, psutil.virtual_memory().available)
    if needed <= free:
        return ""
    return f"the case needs {needed / 2**30:.2f} GiB of device memory, {free / 2**30:.2f} GiB are free"


MOST_WORKSPACE = 16
"""Largest workspace, in multiples of the tensors' bytes, that a library may request without a prediction. Split-K of a
small result over many slices takes a few times its tensors; an index that overflowed asks for thousands of times as
much."""


def workspace_disagreement(problem: Problem, size: int, predicted: Dispatch | None) -> str:
    """Return one sentence if the library's size is not plausible, empty if it is."""
    if predicted is not None:
        if size == predicted.workspace_bytes:
            return ""
        return f"bitgate_workspace_size asks for {size} bytes of workspace, predicted {predicted.workspace_bytes}"
    tensors = sum(tensor.bytes for tensor in problem.tensors.values())
    if size <= MOST_WORKSPACE * tensors:
        return ""
    return (
        f"bitgate_workspace_size asks for {size} bytes of workspace, more than {MOST_WORKSPACE} times the tensors'"
        f" {tensors}: if that is meant, have the declaration's dispatch predict workspace_bytes"
    )
