"""Does a case fit into the host's memory? Asked before it is filled: a process that takes too much is killed."""

from __future__ import annotations

from pathlib import Path

from bitgate.problem import ConvProblem

SMALL = 256 << 20
"""Cases below this many bytes are not checked."""


def memory_shortage(problem: ConvProblem, on_host: bool, meminfo: Path = Path("/proc/meminfo")) -> str:
    """One sentence if the case does not fit, empty if it does or if nobody can tell."""
    tensors = problem.tensors
    result = tensors[problem.result].bytes
    # Host copies of all tensors, poison and a result that was read back; on the host the device's memory as well.
    needed = sum(tensor.bytes for tensor in tensors.values()) * (2 if on_host else 1) + 2 * result
    if needed < SMALL:
        return ""
    available = _available(meminfo)
    if available is None or needed <= available:
        return ""
    return f"the case needs about {needed / 2**30:.1f} GiB of host memory, {available / 2**30:.1f} GiB are available"


def _available(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None
