"""NVIDIA's compute-sanitizer: the program under which the processes that run kernels start, and its log in each.

Only a judge's launcher starts under it. Reference kernels run without, in a process where no other code does.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bitgate.core.errors import UsageError

TOOL = "BITGATE_COMPUTE_SANITIZER"
"""The variable that names the tool under which kernels run."""
FOLDER = "BITGATE_COMPUTE_SANITIZER_DIR"
"""The variable by which a run hands down its folder of logs."""
LOG = "BITGATE_COMPUTE_SANITIZER_LOG"
"""The variable of a process under it: the file that its findings are written to."""

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")

EXACT = ("memcheck", "initcheck")
"""The tools that judge each access by the allocation that it hits: buffers are allocations, without guards in them."""

SLOWNESS = 10.0
"""The factor by which limits in seconds are longer under it."""

PROGRAM = "compute-sanitizer"
_INSTALL = "install it (it comes with the CUDA toolkit), or set CUDA_HOME to where it is"

_CONNECTIONS = 64
"""Ports that the tool tries: each process under it takes one of the machine's."""
_PADDING = 4096
"""Bytes that memcheck keeps free after each allocation: else the next one takes an access that is out of bounds."""


def tool(environment: Mapping[str, str] = os.environ) -> str:
    """Return the tool under which kernels are to run; empty for none. UsageError for an unknown one."""
    stated = environment.get(TOOL, "")
    if stated and stated not in TOOLS:
        raise UsageError(f"{TOOL}={stated[:40]!r}: give one of {', '.join(TOOLS)}")
    return stated


def inside(environment: Mapping[str, str] = os.environ) -> str:
    """Return the tool under which this process runs; empty for none."""
    return tool(environment) if environment.get(LOG) else ""


def program() -> str:
    """Return the file of the program, of PATH, ``$CUDA_HOME/bin`` or /usr/local/cuda/bin. UsageError if none has it."""
    toolkit = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    path = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=f"{toolkit}/bin")
    if path is None:
        raise UsageError(f"--sanitizer: {PROGRAM} was not found (looked in PATH and {toolkit}/bin): {_INSTALL}")
    return path


def check(target: str, platform: str, *, in_process: bool = False, resumes: bool = False) -> None:
    """Make the run's folder of logs. UsageError if kernels are to run under a tool that this target does not have.

    So does ``in_process``, where none of them has a process to be started, and ``resumes``: what is kept was not
    watched.
    """
    if not (stated := tool()):
        return
    if in_process:
        raise UsageError(f"--sanitizer {stated}: it watches processes that bitgate starts: leave --in-process out")
    if resumes:
        raise UsageError(f"--sanitizer {stated}: earlier results were not watched by it: leave --resume out")
    if platform != "nvidia":
        instead = "on the host give --race, or BITGATE_SANITIZE" if platform == "host" else "leave it out there"
        raise UsageError(f"--sanitizer {stated}: it watches NVIDIA's GPUs, and {target} is none: {instead}")
    program()
    if not os.environ.get(FOLDER):
        folder = os.environ[FOLDER] = tempfile.mkdtemp(prefix="bitgate-sanitizer-")
        atexit.register(_leave, folder, os.getpid())


def _leave(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def started(base: Mapping[str, str] = os.environ) -> tuple[tuple[str, ...], dict[str, str] | None]:
    """Return the words under which a launcher starts, and its environment; none and None without a tool.

    The log is one file, which a process that takes the place of an earlier one begins anew.
    """
    stated = tool(base)
    if not stated:
        return (), None
    log = Path(tempfile.mkdtemp(prefix="launcher-", dir=base.get(FOLDER) or None)) / "findings.log"
    words = [program(), "--tool", stated, "--log-file", str(log)]
    # Limits of printing would hide what later cases do. A library may take its time before its first call of CUDA.
    words += ["--print-limit", "0", "--launch-timeout", "0", "--target-processes", "application-only"]
    words += ["--show-backtrace", "no", "--max-connections", str(_CONNECTIONS)]
    if stated == "memcheck":  # errors of calls are in bitgate's own ledger, and probes make some
        words += ["--report-api-errors", "no", "--padding", str(_PADDING)]
    return tuple(words), {**base, LOG: str(log)}
