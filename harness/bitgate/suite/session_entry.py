"""The child in which ``bitgate run`` has pytest: it reports the folder of its run, and ends with pytest's code."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

from bitgate.verify.launcher_worker import PRELOAD
from bitgate.worker import zygote, zygote_process
from bitgate.worker.entry import TOKEN

_PR_SET_PDEATHSIG = 1
SAME_SIGNAL_SECONDS = 1.0
"""A signal to a whole group of processes also comes from the parent, which passes it on."""
_last = -SAME_SIGNAL_SECONDS


def interrupt(number: int, frame: FrameType | None) -> None:
    """Handle SIGINT and a scheduler's SIGTERM: end the run, with its reports written. Once, where it comes twice."""
    global _last
    now = time.monotonic()
    first = now - _last >= SAME_SIGNAL_SECONDS
    _last = now
    if first:
        raise KeyboardInterrupt


class Reporting:
    """Plugin that reports to the parent where the run's plan and record are, and whether it was ended early."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def send(self, **facts: object) -> None:
        os.write(self._descriptor, json.dumps(facts).encode() + b"\n")

    def pytest_sessionstart(self, session: Any) -> None:
        from bitgate.suite.pytest.run import RUN

        if (run := session.config.stash.get(RUN, None)) is not None:
            self.send(folder=str(run.folder), tier=run.tier, target=run.target.name)

    def pytest_unconfigure(self, config: Any) -> None:
        from bitgate.suite.pytest.run import RUN, RunEnd

        if (run := config.stash.get(RUN, None)) is not None:
            self.send(early=run.ended is not RunEnd.WHOLE)


def main(own: list[str], path: list[str]) -> None:
    """Run pytest with the arguments after the descriptor that the parent listens at, and ``path`` to import from.

    Judges and launchers import from ``own``, which a program that is started from here would have.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)  # a parent that is killed takes its child along
    _descend(own)
    descriptor, *arguments = sys.argv[1:]
    os.set_inheritable(int(descriptor), False)
    sys.path[:] = path
    sys.argv[:] = ["pytest", *arguments]
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, interrupt)
        code = _run(int(descriptor), arguments)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _descend(path: list[str]) -> None:
    """Make the zygote of judges and launchers: a copy of this process from before it runs any of a user's code.

    So what they and pytest need is imported once. The parent has blocked signals; from here on they end this process.
    """
    zygote_process.preload(PRELOAD)
    sys.path[:] = path
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    zygote.descend(own_session=True)
    if os.environ[TOKEN] == zygote_process.NO_TOKEN:
        del os.environ[TOKEN]  # a mark of the zygote, not of what is started from here


def _run(descriptor: int, arguments: list[str]) -> int:
    from traceback import extract_tb

    from bitgate.core.errors import UsageError, exit_status, raised, traceback_of
    from bitgate.core.progress import is_terminal
    from bitgate.core.untrusted import printable, shown
    from bitgate.runtime import nvidia

    if "--target=host" not in arguments:  # a driver takes its time over its first answer
        threading.Thread(target=nvidia.devices, daemon=True).start()
    import pytest

    try:
        plugins: list[object] = [Reporting(descriptor)]
        if is_terminal(sys.__stderr__):
            from bitgate.suite.pytest.run_progress import RunProgress

            plugins.append(RunProgress())
        return int(pytest.main(arguments, plugins=plugins))
    except UsageError as error:
        print(f"bitgate: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # pytest lets pass what a conftest.py raises that is no Exception
        if exit_status(error) == 0:
            return 0  # the parent says that nothing was planned
        *_, last = extract_tb(traceback_of(error))
        print(f"bitgate: {last.filename}:{last.lineno}: {shown(raised(error))}", file=sys.stderr)
        return 2
