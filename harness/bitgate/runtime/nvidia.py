"""NVIDIA GPUs as the driver lists them through ctypes."""

from __future__ import annotations

from ctypes import CDLL, byref, c_int, create_string_buffer
from functools import lru_cache
from pathlib import Path

_DRIVER_SIGNS = (Path("/proc/driver/nvidia"), Path("/dev/nvidiactl"))
_LIBRARY = "libcuda.so.1"
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*


@lru_cache(maxsize=1)
def devices() -> tuple[tuple[str, str], ...]:
    """Return (``sm_90``, name) of each GPU; empty without a driver."""
    if not any(sign.exists() for sign in _DRIVER_SIGNS):
        return ()
    try:
        cuda = CDLL(_LIBRARY)
    except OSError:
        return ()
    count = c_int()
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(byref(count)) != 0:
        return ()
    found = []
    for ordinal in range(count.value):
        device, major, minor, name = c_int(), c_int(), c_int(), create_string_buffer(128)
        calls = (
            cuda.cuDeviceGet(byref(device), ordinal),
            cuda.cuDeviceGetAttribute(byref(major), _MAJOR, device),
            cuda.cuDeviceGetAttribute(byref(minor), _MINOR, device),
            cuda.cuDeviceGetName(name, len(name), device),
        )
        if not any(calls):
            found.append((f"sm_{major.value}{minor.value}", name.value.decode(errors="replace")))
    return tuple(found)
