"""Keeping a process out of the reach of another one of the same user: no tracing, no reading of memory, no signals."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any

_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 24, 38
_CAP_SYS_PTRACE = 19
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_REFER, _SCOPE_SIGNALS = 1 << 13, 1 << 1
_CLONE_NEWIPC = 0x08000000
_CAPABILITIES = 0x20080522
"""The version of the structures: two words for each set."""

_has_own_ipc = False


def has_own_ipc() -> bool:
    """Return whether semaphores, message queues and shared memory of System V are this process' and its children's."""
    return _has_own_ipc


def refuse_tracing() -> None:
    """Let no process of the same user trace this one, or open its memory and descriptors."""
    libc: Any = ctypes.CDLL(None)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def allow_tracing() -> None:
    """Be again as a program is when it starts."""
    libc: Any = ctypes.CDLL(None)
    libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def give_up_reaching() -> None:
    """Give up tracing processes that this one has not started, sending them signals, and sharing memory, semaphores and
    queues by name with them, as far as the system can: what is left of these then ends with this process."""
    global _has_own_ipc
    libc: Any = ctypes.CDLL(None)
    _has_own_ipc = libc.unshare(_CLONE_NEWIPC) == 0
    _give_up_tracing()
    _enter_domain()


def _enter_domain() -> None:
    """Enter a Landlock domain of this process and what it starts (Linux 5.19; since 6.12 it also bounds signals).

    It forbids nothing else: the only handled right, to move files between folders, is granted everywhere.
    """
    libc: Any = ctypes.CDLL(None)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    if version < 2:
        return
    rights = struct.pack("=QQQ", _REFER, 0, _SCOPE_SIGNALS if version >= 6 else 0)
    rules = libc.syscall(_CREATE_RULESET, rights, ctypes.c_size_t(len(rights)), 0)
    if rules < 0:
        return
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    granted = libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", _REFER, root), 0) == 0
    if granted:
        libc.syscall(_RESTRICT_SELF, rules, 0)
    os.close(root)
    os.close(rules)


def _give_up_tracing() -> None:
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
