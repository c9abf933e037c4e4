"""The start of a supervised child: ``python -c ... MODULE:FUNCTION QUESTIONS ANSWERS``. Standard library only.

The function is called with the channel and answers until there are no more questions. A child under another program
fetches its descriptors instead (handover.py): ``python -c ... MODULE:FUNCTION @SOCKET``.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import os
import signal
import sys
from typing import NoReturn

from bitgate.core.errors import exit_status, raised
from bitgate.worker.channel import Channel
from bitgate.worker.handover import fetched

TOKEN = "BITGATE_CHILD"
"""Environment variable by which a child's descendants are known, whatever session or parent they gave themselves."""

STACKS = signal.SIGUSR1
"""Asks a child that is late where it stands: the stacks of its threads go to its stderr."""

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> NoReturn:
    name, *descriptors = sys.argv[1:]
    run(name, *(map(int, descriptors) if len(descriptors) > 1 else fetched(descriptors[0])))


def run(name: str, questions: int, answers: int) -> NoReturn:
    """Call the function and never return: a library's exit handlers and destructors do not decide how it ends."""
    channel = Channel(questions, answers)
    die_with_parent()
    adopt_orphans()  # what a kernel daemonises stays in sight
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business, which then ends this one
    faulthandler.register(STACKS, file=sys.stderr, all_threads=True, chain=False)
    module, _, function = name.partition(":")
    try:
        getattr(importlib.import_module(module), function)(channel)
    except Exception:
        raise
    except BaseException as error:  # a user's code ends this process: that is no defect to trace
        _leave(error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _leave(error: BaseException) -> NoReturn:
    """End as Python ends of a SystemExit; of anything else with a line that names it."""
    status = exit_status(error)
    if status is None:
        print(raised(error), file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1 if status is None else status & 255)


def adopt_orphans() -> None:
    """Become the parent of processes whose own has ended, of all that this one and its children start."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Let a parent that is killed take this process along."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def die_with(parent: int) -> None:
    """End this process with its parent; at once, if that has ended."""
    die_with_parent()
    if os.getppid() != parent:
        os._exit(1)
