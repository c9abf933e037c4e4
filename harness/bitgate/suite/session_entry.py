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


def main() -> None:
    """Run pytest with the arguments after the descriptor that the parent listens at."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)  # a parent that is killed takes its child along
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    descriptor, *arguments = sys.argv[1:]
    os.set_inheritable(int(descriptor), False)
    sys.argv[:] = ["pytest", *arguments]
    sys.exit(_run(int(descriptor), arguments))


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
        return 130
    except BaseException as error:  # pytest lets pass what a conftest.py raises that is no Exception
        if exit_status(error) == 0:
            return 0  # the parent says that nothing was planned
        *_, last = extract_tb(traceback_of(error))
        print(f"bitgate: {last.filename}:{last.lineno}: {shown(raised(error))}", file=sys.stderr)
        return 2
