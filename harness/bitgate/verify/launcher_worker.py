"""The worker of a launcher: where its process begins, and the time limits of the processes that run cases."""

from __future__ import annotations

import os

from bitgate.core import compute_sanitizer, emulation
from bitgate.worker.child import Output
from bitgate.worker.entry import TOKEN
from bitgate.worker.worker import HearNote, Worker

PRELOAD = ("bitgate.verify.preload:load",)
"""The work of a zygote before it forks judges and launchers (worker/zygote.py)."""

LAUNCHER = "bitgate.verify.launcher_server:serve"

GRACE_SECONDS = 10.0
"""Time that the parent gives a judge beyond a case's own: it is to say itself that a kernel hangs."""

OPEN_SECONDS = 900.0
"""Limit for opening a device or loading a library, builds included."""


def launcher_worker(
    arenas: tuple[int, int], hear: HearNote, output: Output | None = None, *, is_trusted: bool = False
) -> Worker:
    """Return the worker of a launcher, which has these arenas; under the run's emulator or sanitizer, if there is one.

    ``output`` gets what kernels print, else this process's stdout. No sanitizer watches a process that runs trusted
    kernels alone.
    """
    under, environment = compute_sanitizer.started() if not is_trusted else ((), None)
    if not under:
        under, environment = emulation.started()
    return Worker(
        LAUNCHER,
        output or _to_stdout,
        opening_seconds=OPEN_SECONDS,
        hear=hear,
        environment=environment,
        passes=arenas,
        token=os.environ.get(TOKEN, ""),
        preload=PRELOAD,
        under=under,
    )


def _to_stdout(data: bytes) -> None:
    """Pass on what kernels print: this process's own output goes where theirs is to go."""
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        return
