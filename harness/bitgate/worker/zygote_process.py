"""The process that forks children (zygote.py). Standard library only.

It imports what a request names, answers the process that it was started by alone, and cannot be read or written by
those that it forks. A child has the descriptors that were sent for it and no other.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fcntl import F_DUPFD, fcntl
from pathlib import Path
from typing import Any, NoReturn

from bitgate.worker.entry import TOKEN, adopt_orphans, die_with, run
from bitgate.worker.outside import allow_tracing, refuse_tracing
from bitgate.worker.process import CONTINUED, ENDED, EVENT, STARTED, STOPPED

NO_TOKEN = "0" * 32
"""The token of a zygote, which leaves the place for those of its children."""

ENDS = (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)

LARGEST_REQUEST = 1 << 18
MOST_DESCRIPTORS = 64

_preloaded: set[str] = set()


@dataclass
class CopyOrder:
    """A request for a child, in the child that is to be it."""

    request: dict[str, Any]
    descriptors: list[int]
    zygote: int


def lead(connection: int, parent: int, path: Sequence[str], descend: Callable[[], None]) -> NoReturn:
    """Serve the connection as a zygote, and be a child in each copy, which has ``path`` to import from.

    ``descend`` gives such a copy a zygote.

    Never returns: no frame above goes on in any of them.
    """
    try:
        die_with(parent)
        refuse_tracing()
        adopt_orphans()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _set_token(NO_TOKEN)
        _keep_only([(_nowhere(), 0), (_nowhere(), 1), (_nowhere(), 2), (connection, connection)])
        order = _serve(socket.socket(fileno=connection))
        sys.path[:] = path
        _become(order, descend)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)


def _serve(connection: socket.socket) -> CopyOrder:
    """Fork children until the parent has gone. Returns in a child, with what it is to be."""
    zygote, children = os.getpid(), Children()
    arrivals = select.poll()
    arrivals.register(connection, select.POLLIN)
    arrivals.register(children.bell, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in arrivals.poll()}
        if connection.fileno() in ready:
            data, descriptors, _, _ = socket.recv_fds(connection, LARGEST_REQUEST, MOST_DESCRIPTORS)
            if not data:
                os._exit(0)
            request = json.loads(data)
            preload(request["preload"])
            if descriptors:  # a child is asked for
                pid = os.fork()
                if pid == 0:
                    children.forget()
                    return CopyOrder(request, descriptors[1:], zygote)
                for descriptor in descriptors[1:]:
                    os.close(descriptor)
                events = socket.socket(fileno=descriptors[0])
                children.add(pid, events)
                arrivals.register(events, 0)  # the other end's closing is reported unasked
        for descriptor in children.see_to(ready):
            arrivals.unregister(descriptor)


class Children:
    """The children of a zygote, and where their events are sent."""

    def __init__(self) -> None:
        self.bell, rings = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(rings, warn_on_full_buffer=False)
        self._events: dict[int, socket.socket] = {}
        self._ended: set[int] = set()
        self._released: set[int] = set()

    def forget(self) -> None:
        """Set signals as at the start of a program, in a child."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for events in self._events.values():
            events.detach()

    def add(self, pid: int, events: socket.socket) -> None:
        self._events[pid] = events
        self._send(pid, STARTED, pid)

    def see_to(self, ready: set[int]) -> list[int]:
        """Report what has happened to children, and let go those whose events are not wanted any more.

        Returns the descriptors that were closed.
        """
        with suppress(BlockingIOError):
            while os.read(self.bell, 4096):
                pass
        closed = []
        for pid, events in list(self._events.items()):
            if events.fileno() in ready:
                closed.append(events.fileno())
                del self._events[pid]
                events.close()
                self._ended.discard(pid)
                self._released.add(pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)  # it may have ended: the number is still its own
            else:
                self._report(pid)
        left = {pid for pid in self._released if os.waitpid(pid, os.WNOHANG)[0] == 0}
        has_ended, self._released = left != self._released, left
        if has_ended:
            self._end_strays()
        return closed

    def _end_strays(self) -> None:
        """End processes that a child has left, whatever session and environment they gave themselves."""
        path = Path(f"/proc/self/task/{os.getpid()}/children")
        for pid in set(map(int, path.read_text().split())) - {*self._events, *self._released}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self._released.add(pid)

    def _report(self, pid: int) -> None:
        """Report a child's latest change. An end stays to be seen, so that no other process gets the number."""
        change = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WCONTINUED | os.WNOHANG | os.WNOWAIT)
        if change is None or pid in self._ended:
            return
        if change.si_code in ENDS:
            self._ended.add(pid)
            self._send(pid, ENDED, change.si_status if change.si_code == os.CLD_EXITED else -change.si_status)
        else:
            self._send(pid, CONTINUED if change.si_code == os.CLD_CONTINUED else STOPPED, change.si_status)
            with suppress(ChildProcessError):  # it may have ended since
                os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG)

    def _send(self, pid: int, what: int, number: int) -> None:
        try:
            self._events[pid].send(EVENT.pack(what, number), socket.MSG_DONTWAIT)
        except OSError:  # it is closed, or so full that its reader does not listen
            with suppress(OSError):
                self._events[pid].shutdown(socket.SHUT_RDWR)


def preload(names: Sequence[str]) -> None:
    """Import modules, and call each ``module:function``, for all children to come.

    One that fails does so again, and is reported, in the child.
    """
    missing = [name for name in names if name not in _preloaded]
    for name in missing:
        _preloaded.add(name)
        module, _, function = name.partition(":")
        with suppress(Exception):
            imported = importlib.import_module(module)
            if function:
                getattr(imported, function)()
    if missing:
        gc.collect()
        gc.freeze()  # children share its memory for as long as nothing is written there


def _become(order: CopyOrder, descend: Callable[[], None]) -> NoReturn:
    """Be the child that was asked for: all that a program would have inherited, and the entry."""
    request, places = order.request, order.request["places"]
    os.setsid()
    die_with(order.zygote)
    _keep_only([(_nowhere(), 0), *zip(order.descriptors, places, strict=True)])
    os.chdir(request["folder"])
    for number, soft in request["limits"]:
        resource.setrlimit(number, (soft, resource.getrlimit(number)[1]))
    _set_token(request["token"])
    for name, value in request["environment"].items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
    if (numbers := sys.modules.get("numpy.random")) is not None:
        numbers.seed()  # the standard library sees to its own
    if request["has_zygote"]:
        descend()  # before there is a channel: what is copied here is in the memory of all children to come
    allow_tracing()
    run(request["entry"], *places[:2])


def _keep_only(moves: Sequence[tuple[int, int]]) -> None:
    """Move descriptors to their places, and close every other one."""
    places = {place for _, place in moves}
    free = [(_free_copy(descriptor, places), place) for descriptor, place in moves]
    for descriptor, place in free:
        os.dup2(descriptor, place, inheritable=place <= 2)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in places:
            with suppress(OSError):
                os.close(int(name))


def _free_copy(descriptor: int, taken: set[int]) -> int:
    """Return another descriptor of the same file, which is none of those that are taken."""
    found = fcntl(descriptor, F_DUPFD, 3)
    while found in taken:
        beyond = fcntl(descriptor, F_DUPFD, found + 1)
        os.close(found)
        found = beyond
    return found


def _nowhere() -> int:
    return os.open(os.devnull, os.O_RDWR)


def _set_token(token: str) -> None:
    """Write the token where the system, and programs that are started from here, find the process' environment."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = map(int, fields[47:49])  # env_start and env_end
    start = f"\0{TOKEN}=".encode()
    at = (b"\0" + ctypes.string_at(begin, end - begin)).index(start + os.environ[TOKEN].encode() + b"\0")
    ctypes.memmove(begin + at + len(start) - 1, token.encode(), len(NO_TOKEN))
    os.environ[TOKEN] = token
