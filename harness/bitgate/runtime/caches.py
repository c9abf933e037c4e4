"""The caches of a device: how much to write so that none of them holds anything of a problem."""

from __future__ import annotations

import os

from bitgate.runtime.device import Device

LEAST = 64 << 20
INFINITY_CACHE = 256 << 20
"""Bytes of AMD's last level, which HIP does not report: MI300X has the largest."""
HOSTS_MOST = 1 << 29
"""Bytes at most on the host: a guest sees the cache of the whole CPU, of which it has a part."""
_LEVEL3 = 194
"""Number of glibc's _SC_LEVEL3_CACHE_SIZE, for which Python has no name."""


def overwriting_bytes(device: Device) -> int:
    """Return how many bytes to write so that no cache holds any of a problem: twice the last level, where known."""
    if device.host is not None:
        return min(HOSTS_MOST, max(LEAST, 2 * _host_cache_bytes()))
    kind = device.hip.hipDeviceAttribute_t.hipDeviceAttributeL2CacheSize
    code, size = device.hip.hipDeviceGetAttribute(kind, device.index)
    last = INFINITY_CACHE if device.target.platform == "amd" else int(size) if not int(code) else 0
    return max(LEAST, 2 * last)


def _host_cache_bytes() -> int:
    """Return the bytes of the host's level 3 cache, 0 where the system does not report them."""
    try:
        return max(0, os.sysconf(_LEVEL3))
    except (OSError, ValueError):
        return 0
