"""What a copy of a zygote finds out about itself: the other side of ``test_zygote.py``."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.worker import zygote_process
from bitgate.worker.channel import Channel
from bitgate.worker.entry import TOKEN
from bitgate.worker.outside import give_up_reaching
from bitgate.worker.worker import Worker

LOADED: list[int] = []
"""The process in which ``load`` was called."""
VARIABLE = "BITGATE_THREADS"


def load() -> None:
    LOADED.append(os.getpid())
    np.random.rand()


def _open_files() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # that of the list itself
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return found


def facts(question: dict[str, Any]) -> dict[str, Any]:
    environ = Path("/proc/self/environ").read_bytes()
    return {
        "loaded_in": LOADED,
        "parent": os.getppid(),
        "process": os.getpid(),
        "session": os.getsid(0),
        "descriptors": _open_files(),
        "token": next(part for part in environ.split(b"\0") if part.startswith(TOKEN.encode())).decode(),
        "variable": os.environ.get(VARIABLE),
        "channels": sum(type(one).__name__ == "Channel" for one in gc.get_objects()),
        "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
        "folder": os.getcwd(),
        "threads": len(os.listdir("/proc/self/task")),
        "passed": [os.pread(one, 100, 0).decode() for one in question.get("passed", [])],
        "random": float(np.random.rand()),
    }


def read_parent(_: dict[str, Any]) -> str:
    """Try to read the zygote, without the rights of root."""
    give_up_reaching()
    try:
        return os.readlink(f"/proc/{os.getppid()}/fd/0")
    except OSError as error:
        return type(error).__name__


def signal_parent(question: dict[str, Any]) -> None:
    os.kill(os.getppid(), signal.Signals[question["signal"]])


def outlive_parent(_: dict[str, Any]) -> None:
    """Do what keeps a process from being found and ended with its zygote."""
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG
    zygote_process._set_token("f" * 32)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)


def ask_below(_: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a child of this process."""
    with Worker("tests.worker.copies:serve", lambda data: None, preload=("tests.worker.copies:load",)) as worker:
        found: dict[str, Any] = worker.ask({"do": "facts"}, 60)
        return found


DOINGS = {one.__name__: one for one in (facts, read_parent, signal_parent, outlive_parent, ask_below)}


def serve(channel: Channel) -> None:
    channel.serve(lambda question: DOINGS[question["do"]](question))
