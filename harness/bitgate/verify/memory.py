"""Checks before anything is allocated: whether a case fits into memory, and whether its library's workspace is
plausible.

A process that takes too much is killed, and a full device fails cases that had nothing to do with it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import psutil

from bitgate.core import memory_group
from bitgate.kernel.declaration import Dispatch
from bitgate.model import Problem
from bitgate.model.memory_runs import WIDE, Runs, memory_runs
from bitgate.model.problem import held_bytes
from bitgate.runtime.buffers import GUARD_BYTES, PAGE

if TYPE_CHECKING:
    from bitgate.runtime.device import DeviceMemory
    from bitgate.verify.session import Session

SMALL = 256 << 20
"""Cases below this many bytes are not checked."""

MEMORY_SECONDS = 120.0
"""Seconds that a case on a GPU waits for memory unless ``BITGATE_MEMORY_SECONDS`` states others."""

GPU_PAGE = 1 << 21
"""Bytes of the pages in which the drivers of NVIDIA and AMD map memory."""

MOST_OF_DEVICE = 0.9
"""The share of a device's memory that is free where no other process uses it."""


def memory_seconds(on_host: bool) -> float:
    """Return how long a case waits for device memory that other processes have."""
    stated = os.environ.get("BITGATE_MEMORY_SECONDS")
    return float(stated) if stated else 0.0 if on_host else MEMORY_SECONDS


MAKING_BYTES = 40
"""Bytes a cell while an operation makes an operand's data: index, random word and values in 64 bits, and two more."""


DIAGNOSIS_SHARE = 0.25
"""The share of the memory that is available which padding may take to diagnose a result: defects of large offsets make
several workers' cases red at once."""


def memory_shortage(problem: Problem, on_host: bool, fill: str, *, results: bool = True, judged: bool = False) -> str:
    """Return one sentence if the case does not fit into host memory, with its data made there; empty if it does.

    Without ``results`` these stay on the device. ``judged``: the device has found the result wrong already.
    """
    needed = (_needed(problem, on_host) if results else _operands(problem, on_host)) + _making(problem, fill)
    if needed < SMALL:
        return ""
    available = float(psutil.virtual_memory().available)
    if judged and on_host and any(memory_runs(one) is not None for one in problem.tensors.values()):
        available *= DIAGNOSIS_SHARE
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
    results = sum(problem.tensors[role].bytes for role in problem.outputs)
    return _operands(problem, on_host) + (4 if on_host else 3) * results


def _operands(problem: Problem, on_host: bool) -> int:
    read = sum(one.bytes for name, one in problem.tensors.items() if name not in problem.outputs)
    return read * (2 if on_host else 1)


def _making(problem: Problem, fill: str) -> int:
    """Return the bytes that it takes to make operands which only their operation can make, one after the other."""
    if not any(known.name == fill and known.make is not None for known in problem.operation.numerics.fills(problem)):
        return 0
    return MAKING_BYTES * max(one.elements for name, one in problem.tensors.items() if name not in problem.outputs)


def device_shortage(problem: Problem, session: Session, workspace: int, *, whole: bool = False) -> str:
    """Return one sentence if the device cannot hold the case's tensors and its workspace; empty if it can.

    ``whole``: padding takes memory, too, whatever the device.

    Where other processes have the memory the session ``lacked_memory``. Large cases alone are looked at.
    """
    on_host = session.target.platform == "host"
    guards = 4 * GUARD_BYTES * (len(problem.tensors) + 1)
    needed = workspace + guards + sum(tensor.bytes for tensor in problem.tensors.values())
    if needed < SMALL:
        return ""
    memory = session.launcher.memory()
    if not whole and (parts := parts_with_memory(problem, memory, on_host)):
        page = PAGE if on_host else GPU_PAGE
        needed -= sum(problem.tensors[name].bytes - _taken(runs, page) for name, runs in parts.items())
    free = memory.free
    if on_host:  # its memory is the host's own, which other processes use too
        free = min(free, psutil.virtual_memory().available)
    if needed <= free:
        return ""
    session.lacked_memory = not on_host and needed <= MOST_OF_DEVICE * memory.total
    return f"the case needs {needed / 2**30:.2f} GiB of device memory, {free / 2**30:.2f} GiB are free"


def parts_with_memory(problem: Problem, memory: DeviceMemory, on_host: bool) -> dict[str, Runs]:
    """Return by tensor the parts that are to have memory, where that is not all of it.

    On a GPU padding has memory if the case fits with it, and a reference's outputs beside its own: a write to it is a
    change that can be seen, one to an address without memory ends the process.
    """
    sizes = {name: tensor.bytes for name, tensor in problem.tensors.items()}
    held = sum(sizes.values()) + sum(sizes[role] for role in problem.outputs)
    if held < WIDE or not memory.in_parts or (not on_host and held <= MOST_OF_DEVICE * memory.total):
        return {}
    return {name: runs for name, one in problem.tensors.items() if (runs := memory_runs(one)) is not None}


def _taken(runs: Runs, page: int) -> int:
    return sum(end - begin + 2 * page for begin, end in runs)


MOST_WORKSPACE = 16
"""Largest workspace, in multiples of the tensors' bytes, that a library may request without a prediction. Split-K of a
small result over many slices takes a few times its tensors; an index that overflowed asks for thousands of times as
much."""
SMALL_WORKSPACE = 64 << 10
"""Bytes that are always plausible: parts of a workspace are aligned, which counts where tensors have few bytes."""


def workspace_disagreement(problem: Problem, size: int, predicted: Dispatch | None) -> str:
    """Return one sentence if the library's size is not plausible, empty if it is."""
    if predicted is not None:
        if size == predicted.workspace_bytes:
            return ""
        return f"bitgate_workspace_size asks for {size} bytes of workspace, predicted {predicted.workspace_bytes}"
    tensors = held_bytes(problem)
    if size <= max(SMALL_WORKSPACE, MOST_WORKSPACE * tensors):
        return ""
    return (
        f"bitgate_workspace_size asks for {size} bytes of workspace, more than {MOST_WORKSPACE} times the tensors'"
        f" {tensors}: if that is meant, have the declaration's dispatch predict workspace_bytes"
    )
