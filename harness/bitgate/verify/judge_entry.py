"""The start of a judge's process: its launcher starts first, so that both import what they need at the same time."""

from __future__ import annotations

import resource
from ctypes import CDLL

from bitgate.verify.launcher_worker import launcher_worker
from bitgate.worker import limits
from bitgate.worker.channel import Channel
from bitgate.worker.outside import refuse_tracing
from bitgate.worker.shared_memory import create_memory

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""The C library's names of what it gives back to the system: the end of its heap, and arrays of separate mappings."""
KEPT_BYTES, HEAP_ARRAY_BYTES = 64 << 20, 32 << 20


def keep_freed_memory() -> None:
    """Let the C library keep what arrays free, within KEPT_BYTES.

    Data and references are made in many passes over arrays. Each pass would get its pages anew, which costs more than
    the pass.
    """
    adjust = getattr(CDLL(None), "mallopt", None)  # glibc alone has it
    if adjust is not None:
        adjust(TRIM_THRESHOLD, KEPT_BYTES)
        adjust(MMAP_THRESHOLD, HEAP_ARRAY_BYTES)


def serve(channel: Channel) -> None:
    """Start a launcher, and answer until the parent has no more questions."""
    refuse_tracing()
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))  # shared memory counts as a file
    limits.keep()
    keep_freed_memory()
    arenas = create_memory(), create_memory()
    worker = launcher_worker(arenas, channel.note)
    worker.start()
    from bitgate.verify.server import serve

    serve(channel, worker, arenas)
