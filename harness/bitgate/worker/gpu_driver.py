"""The start of a GPU's driver: its first calls, up to memory of a device that has been written."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

THREADS = "/proc/self/task"
"""Where a driver writes the names of its threads: CUDA's (570 and later) returns 304 where it cannot."""


def devices() -> list[str]:
    """Return the device files of GPUs, which a driver opens to write."""
    found = [path for pattern in ("nvidia*", "kfd", "dri") for path in Path("/dev").glob(pattern)]
    return sorted(str(path) for path in found if path.is_dir() or path.is_char_device())


def why_not_started() -> str:
    """Return why the first of the drivers that this machine has does not start; empty if it does, or has none."""
    for name, start in (("libcuda.so.1", _start_cuda), ("libhsa-runtime64.so.1", _start_hsa)):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return start(library)
    return ""


def _start_cuda(driver: Any) -> str:
    device, context, count = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_size_t(1 << 20)
    memory, pinned = ctypes.c_uint64(), ctypes.c_void_p()
    calls: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("cuInit", (0,)),
        ("cuDeviceGet", (ctypes.byref(device), 0)),
        ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), device)),
        ("cuCtxSetCurrent", (context,)),
        ("cuMemAlloc_v2", (ctypes.byref(memory), count)),
        ("cuMemAllocHost_v2", (ctypes.byref(pinned), count)),
        ("cuMemsetD8_v2", (memory, 1, count)),
        ("cuMemcpyDtoH_v2", (pinned, memory, count)),
    )
    for name, arguments in calls:
        if status := getattr(driver, name)(*arguments):
            return f"{name} returns {status}"
    return ""


def _start_hsa(driver: Any) -> str:
    status = driver.hsa_init()
    return f"hsa_init returns {status}" if status else ""
