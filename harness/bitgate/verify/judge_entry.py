"""The start of a judge's process: its launcher starts first, so that both import what they need at the same time."""

from __future__ import annotations

import resource

from bitgate.verify.launcher_worker import launcher_worker
from bitgate.worker import limits
from bitgate.worker.channel import Channel
from bitgate.worker.outside import refuse_tracing
from bitgate.worker.shared_memory import create_memory


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
