"""A change of the process is reported in words; what is excused is not."""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from bitgate.verify.watch import snapshot
from bitgate.worker import state
from bitgate.worker.state import ProcessState

T = TypeVar("T")
USR2 = signal.SIGUSR2
NAME = b"BITGATE_TEST_STATE"
libc = ctypes.CDLL(None)


def nowhere() -> None:
    """There is no HIP runtime here."""


libm = ctypes.CDLL("libm.so.6")


@contextmanager
def flushing() -> Iterator[None]:
    before = state.fp_environment()
    state.restore_fp_environment((before[0], before[1] | 0x8040))
    yield
    state.restore_fp_environment(before)


@contextmanager
def elsewhere() -> Iterator[None]:
    before = Path.cwd()
    os.chdir("/")
    yield
    os.chdir(before)


def changed(change: Callable[[], T], undo: Callable[[T], object]) -> Callable[[], AbstractContextManager[None]]:
    """``undo`` is given what ``change`` returned: mostly how it was before."""

    @contextmanager
    def around() -> Iterator[None]:
        before = change()
        yield
        undo(before)

    return around


blocked = partial(signal.pthread_sigmask, signal.SIG_BLOCK, {USR2})
descriptor = changed(lambda: os.open(os.devnull, os.O_RDONLY), os.close)


@contextmanager
def thread() -> Iterator[None]:
    done = threading.Event()
    one = threading.Thread(target=done.wait)
    one.start()
    yield
    done.set()
    one.join()


@contextmanager
def subprocess_left() -> Iterator[None]:
    one = subprocess.Popen(["sleep", "1000"])
    yield
    one.kill()
    one.wait()


KEPT = os.open(os.devnull, os.O_RDONLY)


@contextmanager
def not_blocking() -> Iterator[None]:
    os.set_blocking(KEPT, False)
    yield
    os.set_blocking(KEPT, True)


MCL_FUTURE, MCL_ONFAULT = 2, 4
SET_MEMPOLICY, MPOL_PREFERRED = 238, 1
IPC_PRIVATE = IPC_RMID = 0
first_node = ctypes.c_ulong(1)
preferred = partial(libc.syscall, SET_MEMPOLICY, MPOL_PREFERRED, ctypes.byref(first_node), 64)
by_default = partial(libc.syscall, SET_MEMPOLICY, 0, None, 0)
segment = partial(libc.shmget, IPC_PRIVATE, ctypes.c_size_t(4096), 0o600)


CHANGES = {
    f"descriptors: {KEPT} given other flags": not_blocking,
    "fp environment: flush to zero, denormals are zero": flushing,
    "fp environment: rounding": changed(lambda: libm.fesetround(0x800), lambda _: libm.fesetround(0)),
    "signal handlers: SIGUSR2": changed(partial(signal.signal, USR2, signal.SIG_IGN), partial(signal.signal, USR2)),
    "signal mask: changed": changed(blocked, partial(signal.pthread_sigmask, signal.SIG_SETMASK)),
    "working directory: was ": elsewhere,
    "environment: BITGATE_TEST_STATE": changed(lambda: libc.setenv(NAME, b"1", 1), lambda _: libc.unsetenv(NAME)),
    "umask: was ": changed(lambda: os.umask(0o027), os.umask),
    "timers: one is running": changed(lambda: signal.alarm(1000), lambda _: signal.alarm(0)),
    "descriptors: ": descriptor,
    "locked memory: all is locked": changed(
        lambda: libc.mlockall(MCL_FUTURE | MCL_ONFAULT), lambda _: libc.munlockall()
    ),
    "system v: 0 segments of shared memory, now 1": changed(segment, lambda one: libc.shmctl(one, IPC_RMID, None)),
    "threads: 1 left running": thread,
    "subprocesses: 1 left behind": subprocess_left,
}
if by_default() == 0:  # containers may forbid it
    CHANGES["memory policy: changed"] = changed(preferred, lambda _: by_default())


@pytest.mark.parametrize("words", CHANGES)
def test_a_change_is_reported(words: str) -> None:
    before = ProcessState.of(snapshot())
    with CHANGES[words]():
        after = ProcessState.of(snapshot())
    found = state.changes(before, after, nowhere, ())
    assert any(text.startswith(words) for text in found), found
    assert len(found) <= 2  # x87's control word follows the rounding mode
    excused = {"threads", "descriptors", "subprocesses"}
    assert bool(state.changes(before, after, nowhere, excused)) == (words.partition(":")[0] not in excused)


def test_what_is_added_can_be_left_out_but_not_what_is_closed() -> None:
    closing = os.open(os.devnull, os.O_RDONLY)
    before = ProcessState.of(snapshot())
    with thread(), descriptor():
        os.close(closing)
        after = state.without_additions(before, ProcessState.of(snapshot()))
    assert state.changes(before, after, nowhere, ()) == [f"descriptors: {closing} closed"]


def test_nothing_changes_by_looking() -> None:
    assert snapshot() == snapshot()


def test_as_many_descriptors_as_before_are_not_the_same_ones() -> None:
    """The system reports at once how many are open; which ones, by looking at each."""
    closing = os.open(os.devnull, os.O_RDONLY)
    before = ProcessState.of(snapshot())
    assert ProcessState.of(snapshot()) == before
    elsewhere = fcntl.fcntl(closing, fcntl.F_DUPFD, closing + 40)
    os.close(closing)
    assert state.changes(before, ProcessState.of(snapshot()), nowhere, ()) == [
        f"descriptors: {closing} closed, {elsewhere} opened"
    ]
    os.close(elsewhere)


def test_a_descriptor_that_is_another_file_now_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    kept = os.open(os.devnull, os.O_RDONLY)
    before = ProcessState.of(snapshot())
    other = os.open(tmp_path / "other", os.O_RDONLY)
    os.dup2(other, kept)
    os.close(other)
    found = state.changes(before, ProcessState.of(snapshot()), nowhere, ())
    os.close(kept)
    assert found == [f"descriptors: {kept} replaced"]


def test_more_descriptors_than_are_remembered_are_all_seen() -> None:
    code = (
        "import os, resource; from bitgate.worker.state import ProcessState, changes;"
        "from bitgate.verify.watch import snapshot;"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1];"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard));"
        "many = [os.open(os.devnull, os.O_RDONLY) for _ in range(min(5000, hard - 100))];"
        "before = ProcessState.of(snapshot()); assert ProcessState.of(snapshot()) == before;"
        "assert {number for number, *_ in before.descriptors} >= set(many);"
        "os.close(many[-1]); print(changes(before, ProcessState.of(snapshot()), lambda: None, ()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\['descriptors: \d+ closed'\]", done.stdout.strip())


def settled_threads(before: bytes, is_known: state.IsKnownThread) -> frozenset[int]:
    return state.settled(ProcessState.of(before), ProcessState.of(snapshot()), snapshot, is_known).threads


def test_what_is_about_to_go_is_waited_for() -> None:
    before = snapshot()
    one = threading.Thread(target=lambda: threading.Event().wait(0.02))
    one.start()
    started = one.native_id
    assert started in ProcessState.of(snapshot()).threads
    assert started not in settled_threads(before, lambda _: False)


def test_a_thread_that_stays_is_an_addition_unless_it_is_known() -> None:
    before, done = snapshot(), threading.Event()
    one = threading.Thread(target=done.wait)
    one.start()
    started = one.native_id
    assert started in settled_threads(before, lambda _: False)
    assert started not in settled_threads(before, lambda thread: thread == started)
    done.set()
    one.join()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which may make a namespace")
def test_semaphores_and_queues_are_reported_in_a_namespace_of_their_process_alone() -> None:
    code = (
        "import ctypes, sys; from bitgate.worker.outside import give_up_reaching;"
        "from bitgate.worker.state import ProcessState, changes; from bitgate.verify.watch import snapshot;"
        "'apart' in sys.argv and give_up_reaching(); libc = ctypes.CDLL(None); before = ProcessState.of(snapshot());"
        "made = libc.semget(0, 1, 0o600), libc.msgget(0, 0o600);"
        "print(changes(before, ProcessState.of(snapshot()), lambda: None, ()));"
        "libc.semctl(made[0], 0, 0), libc.msgctl(made[1], 0, None)"
    )
    found = [subprocess.check_output([sys.executable, "-c", code, word], text=True).strip() for word in ("", "apart")]
    assert found == ["[]", "['system v: 0 semaphore sets, now 1, 0 message queues, now 1']"]


def test_limits_are_reported_by_name() -> None:
    code = (
        "import resource; from bitgate.worker.state import ProcessState, changes;"
        "from bitgate.verify.watch import snapshot;"
        "before = ProcessState.of(snapshot()); resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64));"
        "print(changes(before, ProcessState.of(snapshot()), lambda: None, ()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['limits: RLIMIT_NOFILE']"
