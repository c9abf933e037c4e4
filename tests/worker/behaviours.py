"""What may happen in a child, by name: the other side of ``test_child.py``."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.worker.channel import Channel

DESCRIPTORS = range(3, 1024)
"""Whichever of them the channel has: a parent with many open files gives it a high one."""


def _garbage() -> None:
    for descriptor in DESCRIPTORS:
        try:
            os.write(descriptor, b"PASS\n")
        except OSError:
            continue


def _close_all() -> None:
    os.closerange(DESCRIPTORS.start, DESCRIPTORS.stop)


def _replace_all() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in DESCRIPTORS:
        if descriptor != nowhere:
            os.dup2(nowhere, descriptor)


def _fork_and_leave() -> None:
    """The copy goes on as if it were the child, and answers; the child itself is gone."""
    if os.fork():
        os._exit(0)


def _daemon() -> None:
    subprocess.Popen(["sleep", "1000"], start_new_session=True)


def _close_output_and_sleep() -> None:
    os.close(1)
    os.close(2)
    time.sleep(1000)


def _print_for_ever() -> None:
    while True:
        os.write(1, b"x" * 4096)


def _refuse() -> None:
    raise UsageError("not this one")


class _Silent(BaseException):
    def __str__(self) -> str:
        raise self

    __repr__ = __str__


class _SilentExit(_Silent, SystemExit):
    @property
    def code(self) -> int:  # type: ignore[override]
        raise self


class _SilentRefusal(UsageError):
    def __str__(self) -> str:
        raise KeyboardInterrupt


def _raise(error: BaseException) -> None:
    raise error


BEHAVIOURS: dict[str, Callable[[], object]] = {
    "well": lambda: None,
    "exit": lambda: ctypes.CDLL(None).exit(0),
    "_exit": lambda: os._exit(0),
    "sys_exit": lambda: sys.exit(0),
    "abort": os.abort,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "eat": lambda: bytearray(1 << 32),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "terminate_group": lambda: os.kill(0, signal.SIGTERM),
    "sleep": lambda: time.sleep(1000),
    "garbage": _garbage,
    "close": _close_all,
    "replace": _replace_all,
    "fork": _fork_and_leave,
    "daemon": _daemon,
    "mute": _close_output_and_sleep,
    "flood": _print_for_ever,
    "print": lambda: print("hello from the child", flush=True),
    "defect": lambda: 1 / 0,
    "refuse": _refuse,
    "silent": lambda: _raise(_Silent()),
    "silent_exit": lambda: _raise(_SilentExit()),
    "silent_refusal": lambda: _raise(_SilentRefusal()),
}


def serve(channel: Channel) -> None:
    def handle(question: dict[str, Any]) -> dict[str, bool]:
        channel.note("on its way")
        if "more" in question:
            channel.note("it takes longer", question["more"])
            time.sleep(question["sleeps"])
        BEHAVIOURS[question["behaviour"]]()
        return {"well": True}

    channel.serve(handle)
