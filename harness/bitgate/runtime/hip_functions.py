"""The functions of an external HIP runtime that bitgate calls, and a wrapper that turns Python's errors into HipError.

hip-python is made for one ROCm. Another one returns error codes that hip-python has no name for, where it raises
ValueError, and lacks functions, where it raises RuntimeError once they are called.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ctypes import CDLL
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.runtime.errors import hip_error

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
    "hipMemcpy",
    "hipMemcpyAsync",
    "hipMemset",
    "hipMemsetAsync",
    "hipModuleGetFunction",
    "hipModuleLaunchKernel",
    "hipModuleLoad",
    "hipModuleUnload",
    "hipPeekAtLastError",
    "hipRuntimeGetVersion",
    "hipSetDevice",
    "hipStreamCreate",
    "hipStreamDestroy",
    "hipStreamQuery",
    "hipStreamSynchronize",
)
"""The functions that bitgate's Python calls, as tests verify; hipGetDeviceProperties is left out, since its name
differs (runtime.py)."""


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
