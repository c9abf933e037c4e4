"""Descriptors of memory that processes share (arena.py). Standard library only, so that a process starts at once."""

from __future__ import annotations

import fcntl
import os

_F_ADD_SEALS, _F_SEAL_SEAL, _F_SEAL_SHRINK = 1033, 1, 2


def create_memory() -> int:
    """Return the descriptor of memory that grows, and that no process can cut short, or keep from growing: that would
    end the others."""
    descriptor = os.memfd_create("bitgate", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    fcntl.fcntl(descriptor, _F_ADD_SEALS, _F_SEAL_SHRINK | _F_SEAL_SEAL)
    return descriptor
