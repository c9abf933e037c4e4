"""How much LDS the blocks of the last kernel took on the host: what a code object states is held against it."""

from __future__ import annotations

from ctypes import CDLL, Structure, byref, c_char, c_uint32, c_uint64
from pathlib import Path
from typing import Any, ClassVar


class _HostLaunch(Structure):
    """``BitgateHostLaunch`` of ``bitgate_host.h``."""

    _fields_: ClassVar[Any] = [
        ("kernel", c_char * 128),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("lds_bytes", c_uint64),
        ("wave_size", c_uint32),
        ("threads", c_uint32),
        ("sequence", c_uint64),
    ]


def lds_of_last_launch(runtime: Path) -> int:
    """Bytes, static and dynamic, that a block of the last kernel asked for. ``runtime`` is the host's, loaded."""
    launch = _HostLaunch()
    CDLL(str(runtime)).bitgateHostLastLaunch(byref(launch))
    return int(launch.lds_bytes)
