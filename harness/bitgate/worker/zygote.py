"""A zygote: a process that has imported what children need, and forks each of them, which is then at work at once.

It runs no user's code, stays single-threaded, and is the same for all children: zygote_process.py. Here is the side of
the process whose children they are. Where a child would inherit something else than the zygote has, there is none for
it, and the child is started as a program.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from bitgate.worker import zygote_process
from bitgate.worker.entry import TOKEN
from bitgate.worker.limits import LIMITS, limits_of
from bitgate.worker.process import ForkedProcess
from bitgate.worker.zygote_process import NO_TOKEN

MAY_DIFFER = (
    "BITGATE_",
    "PYTEST_",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "KMP_DUPLICATE_LIB_OK",  # threadpoolctl sets it, here and there
)
"""How the variables begin of which a child may have others than its zygote, where nothing has read them."""
READ = frozenset({"BITGATE_DATA_ROOT"})
"""Those of them that a zygote has read."""

INHERITED = ("Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "Cap", "NoNewPrivs", "Seccomp", "Cpus_", "Mems_")
"""How the lines of /proc/self/status begin that say what a child inherits."""

Open = Callable[[Sequence[str], int, Mapping[str, str]], "subprocess.Popen[bytes]"]
"""Starts a program that gets a descriptor, and dies with this process."""


@dataclass(frozen=True)
class Birth:
    """A child that is to be: its ``descriptors`` here, by the numbers that they will have there.

    One that ``has_zygote`` is copied before it begins: that copy forks its own children.
    """

    entry: str
    preload: tuple[str, ...]
    token: str
    environment: Mapping[str, str]
    descriptors: Mapping[int, int]
    has_zygote: bool = False


class Zygote:
    """The zygote of this process, and what its children inherit."""

    def __init__(self, connection: socket.socket, pid: int, environment: Mapping[str, str]) -> None:
        self.owner = os.getpid()
        self._pid = pid
        self._connection = connection
        self._environment = dict(environment)
        self._inherited = _inherited()

    def suits(self, birth: Birth) -> bool:
        """Would a child that was started as a program have inherited the same from here?"""
        return (
            self.is_of(birth.environment)
            and len(birth.token) == len(NO_TOKEN)
            and self._inherited == _inherited()
            and self._has_limits()
        )

    def is_of(self, environment: Mapping[str, str]) -> bool:
        """Return whether it has the variables of this environment, but for those that nothing there has read."""
        return all(name.startswith(MAY_DIFFER) and name not in READ for name in self._differing(environment))

    def _has_limits(self) -> bool:
        """Return whether its hard limits are those of this process: a kernel can lower them."""
        try:
            theirs, ours = limits_of(self._pid), limits_of()
        except OSError:
            return True  # it has ended, and is replaced
        return all(theirs[number][1] == ours[number][1] for number in LIMITS)

    def fork(self, birth: Birth) -> ForkedProcess:
        """Return a child that is being forked. OSError if the zygote has ended."""
        request = {
            "entry": birth.entry,
            "preload": birth.preload,
            "token": birth.token,
            "folder": os.getcwd(),
            "limits": [[number, resource.getrlimit(number)[0]] for number in LIMITS],
            "environment": {name: birth.environment.get(name) for name in self._differing(birth.environment)},
            "places": list(birth.descriptors),
            "has_zygote": birth.has_zygote,
        }
        events, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                passed = [theirs.fileno(), *birth.descriptors.values()]
                socket.send_fds(self._connection, [json.dumps(request).encode()], passed)
        except BaseException:
            events.close()
            raise
        return ForkedProcess(events, self._pid)

    def preload(self, names: Sequence[str]) -> None:
        """Let it load what children will need, without waiting for it."""
        self._connection.send(json.dumps({"preload": names}).encode())

    def _differing(self, environment: Mapping[str, str]) -> list[str]:
        names = {*environment, *self._environment} - {TOKEN}
        return [name for name in names if environment.get(name) != self._environment.get(name)]

    def close(self) -> None:
        self._connection.close()


_lock = threading.Lock()
_here: Zygote | None = None
"""The zygote of this process; a copy of the process has none."""


def forked(birth: Birth, start: Open) -> ForkedProcess | None:
    """Return a child that this process' zygote forks, which begins now if there is none; None if it has to be started
    as a program."""
    with _lock, suppress(OSError):
        for _ in range(2):  # one that has ended is replaced
            zygote = _standing(birth.environment, start)
            if not zygote.suits(birth):
                return None
            try:
                return zygote.fork(birth)
            except (BrokenPipeError, ConnectionResetError):
                _forget()
    return None


def begin(preload: Sequence[str], start: Open) -> None:
    """Start a zygote ahead of the first child, if this process has none of its environment. Failures are ignored: they
    recur."""
    with _lock, suppress(OSError):
        if _here is not None and not _here.is_of(os.environ):  # a plugin of pytest has set variables
            _forget()
        _standing(os.environ, start).preload(preload)


def descend(own_session: bool = False) -> None:
    """Give this process a zygote that is a copy of it: it has to know nothing yet. With ``own_session`` no signal to
    this one's group ends it."""
    global _here
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        if own_session:
            os.setsid()
        zygote_process.lead(theirs.detach(), parent, sys.path, descend)
    theirs.close()
    _here = Zygote(ours, pid, os.environ)
    if own_session:
        atexit.register(_end, parent, ours, partial(os.kill, pid, signal.SIGKILL), partial(os.waitpid, pid, 0))


def main() -> NoReturn:
    """Be a zygote until the parent ends: ``python -c ... CONNECTION PARENT``."""
    connection, parent = map(int, sys.argv[1:])
    path = [*sys.path]
    sys.path[:] = filter(None, path)  # no file of the folder that it happens to be in is imported
    zygote_process.lead(connection, parent, path, descend)


def _standing(environment: Mapping[str, str], start: Open) -> Zygote:
    global _here
    if _here is None or _here.owner != os.getpid():
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        package = str(Path(__file__).resolve().parents[2])
        code = f"import sys; sys.path.append({package!r}); from bitgate.worker.zygote import main; main()"
        with theirs:
            command = [sys.executable, "-c", code, str(theirs.fileno()), str(os.getpid())]
            program = start(command, theirs.fileno(), {**environment, TOKEN: NO_TOKEN})
        _here = Zygote(ours, program.pid, environment)
        atexit.register(_end, os.getpid(), ours, program.kill, program.wait)
    return _here


def _forget() -> None:
    global _here
    if _here is not None:
        _here.close()
    _here = None


def _end(owner: int, connection: socket.socket, kill: Callable[[], Any], wait: Callable[[], Any]) -> None:
    if os.getpid() == owner:
        connection.close()
        with suppress(ProcessLookupError, ChildProcessError):
            kill()
            wait()


def _inherited() -> tuple[str, ...]:
    """Return what a child gets from this process besides its environment, its folder and its soft limits."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kept = [line for line in lines if line.startswith(INHERITED)]
    hard = [f"{number}: {resource.getrlimit(number)[1]}" for number in LIMITS]
    score = Path("/proc/self/oom_score_adj").read_text()
    return (*kept, *hard, score, str(os.getpriority(os.PRIO_PROCESS, 0)))
