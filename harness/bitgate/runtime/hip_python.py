"""hip-python: the installed release, the one that the ROCm on this machine needs, and a wrapper of its functions.

hip-python is made for one ROCm. Another one returns error codes that hip-python has no name for, where it raises
ValueError, and lacks functions, where it raises RuntimeError once they are called.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Callable
from ctypes import CDLL
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.kernel.build.toolchain import find_rocm_runtime
from bitgate.runtime.errors import hip_error


def import_hip() -> Any:
    """Return its module. Raises UsageError that says which release to install."""
    try:
        from hip import hip
    except ImportError as error:
        raise UsageError(why_not(error)) from None
    return hip


def why_not(error: Exception) -> str:
    """Return one line about a hip-python that does not import."""
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    if not (version := installed()):
        return f"hip-python cannot be imported ({error}): {install()}, with a Python that it has wheels for ({python}?)"
    return (
        f"hip-python {version} is installed and cannot be imported ({error}): it is for another Python than {python};"
        f" {install()} with this one, or take a Python that it has wheels for"
    )


def install() -> str:
    """Return the command to install it: in the release of ROCm, where that is found and states its version."""
    release = rocm_release()
    return f"pip install 'hip-python=={release}.*'" if release else "pip install hip-python"


def installed() -> str:
    """Return its version; empty if it is not installed."""
    try:
        return importlib.metadata.version("hip-python") if importlib.util.find_spec("hip") else ""
    except (importlib.metadata.PackageNotFoundError, ImportError, ValueError):
        return ""


def is_of_another_release(version: int) -> str:
    """Return one line if the runtime is of another major release than hip-python; empty if both are of one.

    ``version`` is that of hipRuntimeGetVersion.
    """
    mine, theirs = installed(), hip_release(version)
    if not mine or mine.split(".")[0] == theirs.split(".")[0]:
        return ""
    return f"hip-python {mine} is not of HIP {theirs}'s release: pip install 'hip-python=={theirs}.*'"


def hip_release(version: int) -> str:
    """Return a version such as 60443482 as ``6.4``."""
    return f"{version // 10_000_000}.{version // 100_000 % 100}"


def rocm_release() -> str:
    """Return ``6.4``, as ROCm's folder states it; empty if there is no ROCm, or it states nothing."""
    try:
        folder = find_rocm_runtime().resolve().parent.parent
        return ".".join((folder / ".info" / "version").read_text().split("-")[0].split(".")[:2]).strip()
    except (UsageError, OSError):
        return ""


CALLED = (
    "hipDeviceGetAttribute",
    "hipDeviceGetName",
    "hipDeviceSynchronize",
    "hipEventCreate",
    "hipEventDestroy",
    "hipEventElapsedTime",
    "hipEventQuery",
    "hipEventRecord",
    "hipEventSynchronize",
    "hipFree",
    "hipGetDevice",
    "hipGetDeviceCount",
    "hipGetErrorName",
    "hipGetErrorString",
    "hipGetLastError",
    "hipMalloc",
    "hipMemGetInfo",
    "hipMemcpyAsync",
    "hipMemset",
    "hipMemsetAsync",
    "hipGraphDestroy",
    "hipGraphExecDestroy",
    "hipGraphInstantiateWithFlags",
    "hipGraphLaunch",
    "hipModuleGetFunction",
    "hipModuleLaunchKernel",
    "hipModuleLoad",
    "hipModuleUnload",
    "hipPeekAtLastError",
    "hipRuntimeGetVersion",
    "hipSetDevice",
    "hipStreamBeginCapture",
    "hipStreamCreateWithFlags",
    "hipStreamDestroy",
    "hipStreamEndCapture",
    "hipStreamQuery",
    "hipStreamSynchronize",
)
"""The functions that bitgate's Python calls, as tests verify. Left out are hipGetDeviceProperties, since its name
differs (runtime.py), and those of hip_api_gpu.txt: without them padding takes memory."""


def lacking(runtime: Path) -> list[str]:
    """Return the functions of CALLED that a loaded runtime does not have."""
    library = CDLL(str(runtime))
    return [name for name in CALLED if not hasattr(library, name)]


class HipFunctions:
    """The module of hip-python, with functions that raise HipError for an unknown code, and UsageError where the
    runtime lacks them."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if callable(found) and not isinstance(found, type):
            found = _guarded(name, found)
        setattr(self, name, found)  # looked up once
        return found


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except ValueError as error:
            if code := re.match(r"(-?\d+) is not a valid hipError_t", str(error)):
                raise hip_error(int(code[1]), name) from None
            raise
        except RuntimeError as error:
            if "dlsym" in str(error):
                raise UsageError(f"{name} is not in this HIP runtime: install ROCm 6.4 or later") from None
            raise

    return call
