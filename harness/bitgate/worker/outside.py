"""Keeping a process outside of the reach of another one of the same user: no reading or writing of its memory."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 24, 38
_CAP_SYS_PTRACE = 19
_CAPABILITIES = 0x20080522
"""The version of the structures: two words for each set."""


def refuse_tracing() -> None:
    """Let no process of the same user trace this one, or open its memory and descriptors."""
    libc: Any = ctypes.CDLL(None)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def allow_tracing() -> None:
    """Be again as a program is when it starts."""
    libc: Any = ctypes.CDLL(None)
    libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def give_up_tracing() -> None:
    """Give up the right to trace other users' processes, and with it those that refuse: root has it by default."""
    libc: Any = ctypes.CDLL(None)
    libc.prctl(_PR_CAPBSET_DROP, _CAP_SYS_PTRACE, 0, 0, 0)  # no program that is started here gets it back
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITIES, 0)
    sets = ctypes.create_string_buffer(24)
    if libc.capget(header, sets) == 0:
        words = [word & ~(1 << _CAP_SYS_PTRACE) if place < 3 else word for place, word in enumerate(_words(sets.raw))]
        libc.capset(header, struct.pack("=6I", *words))


def _words(data: bytes) -> tuple[int, ...]:
    return struct.unpack("=6I", data)
