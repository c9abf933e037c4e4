"""How much has to be written so that nothing of a problem is left in any cache."""

from __future__ import annotations

import os

from bitgate.runtime.device import Device

LEAST = 64 << 20
INFINITY_CACHE = 256 << 20
"""AMD's last level, which HIP does not tell of: MI300X's, the largest there is."""
HOSTS_MOST = 1 << 29
"""A guest is told the whole CPU's cache, of which it has a part."""
_LEVEL3 = 194
"""glibc's _SC_LEVEL3_CACHE_SIZE, for which Python has no name."""


def overwriting_bytes(device: Device) -> int:
    """Twice the last-level cache, as far as anybody tells how large that is."""
    if device.host is not None:
        return min(HOSTS_MOST, max(LEAST, 2 * _hosts()))
    kind = device.hip.hipDeviceAttribute_t.hipDeviceAttributeL2CacheSize
    code, size = device.hip.hipDeviceGetAttribute(kind, device.index)
    last = INFINITY_CACHE if device.target.platform == "amd" else int(size) if not int(code) else 0
    return max(LEAST, 2 * last)


def _hosts() -> int:
    """0 where the system does not say."""
    try:
        return max(0, os.sysconf(_LEVEL3))
    except (OSError, ValueError):
        return 0
