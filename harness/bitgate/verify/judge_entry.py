"""The start of a judge's process: its launcher starts first, so that both import what they need at the same time."""

from __future__ import annotations

import os
import resource

from bitgate.core import emulation
from bitgate.worker import limits
from bitgate.worker.channel import Channel
from bitgate.worker.child import Output
from bitgate.worker.entry import TOKEN
from bitgate.worker.outside import refuse_tracing
from bitgate.worker.shared_memory import create_memory
from bitgate.worker.worker import HearNote, Worker

PRELOAD = ("bitgate.verify.preload:load",)
"""What a zygote does before it forks judges and launchers (worker/zygote.py)."""

LAUNCHER = "bitgate.verify.launcher_server:serve"

GRACE_SECONDS = 10.0
"""Time that the parent gives a judge beyond a case's own: it is to say itself that a kernel hangs."""

OPEN_SECONDS = 900.0
"""Limit for opening a device or loading a library, builds included."""


def serve(channel: Channel) -> None:
    """Start a launcher, and answer until the parent has no more questions."""
    refuse_tracing()
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))  # shared memory counts as a file
    limits.keep()
    arenas = create_memory(), create_memory()
    worker = launcher_worker(arenas, channel.note)
    worker.start()
    from bitgate.verify.server import serve

    serve(channel, worker, arenas)


def launcher_worker(arenas: tuple[int, int], hear: HearNote, output: Output | None = None) -> Worker:
    """Return the worker of a launcher, which has these arenas; under the run's emulator, if there is one."""
    under, environment = emulation.started()
    return Worker(
        LAUNCHER,
        output or to_stdout,
        opening_seconds=OPEN_SECONDS,
        hear=hear,
        environment=environment,
        passes=arenas,
        token=os.environ.get(TOKEN, ""),
        preload=PRELOAD,
        under=under,
    )


def to_stdout(data: bytes) -> None:
    """Pass on what kernels print: this process's own output goes where theirs is to go."""
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        return
