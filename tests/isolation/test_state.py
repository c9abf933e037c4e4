"""A change of the process is told in words; what is excused is not."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bitgate.isolation import state
from bitgate.isolation.state import State
from bitgate.verify.watch import snapshot

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
def rounding_up() -> Iterator[None]:
    libm.fesetround(0x800)
    yield
    libm.fesetround(0)


@contextmanager
def ignoring_pipes() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGUSR2, before)


@contextmanager
def blocking() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def elsewhere() -> Iterator[None]:
    before = Path.cwd()
    os.chdir("/")
    yield
    os.chdir(before)


@contextmanager
def variable_of_c() -> Iterator[None]:
    libc.setenv(b"BITGATE_TEST_STATE", b"1", 1)
    yield
    libc.unsetenv(b"BITGATE_TEST_STATE")


@contextmanager
def another_umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


@contextmanager
def alarm() -> Iterator[None]:
    signal.alarm(1000)
    yield
    signal.alarm(0)


@contextmanager
def descriptor() -> Iterator[None]:
    opened = os.open(os.devnull, os.O_RDONLY)
    yield
    os.close(opened)


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


CHANGES = [
    (flushing, "fp environment: flush to zero, denormals are zero"),
    (rounding_up, "fp environment: rounding"),
    (ignoring_pipes, "signal handlers: SIGUSR2"),
    (blocking, "signal mask: changed"),
    (elsewhere, "working directory: was "),
    (variable_of_c, "environment: BITGATE_TEST_STATE"),
    (another_umask, "umask: was "),
    (alarm, "timers: one is running"),
    (descriptor, "descriptors: "),
    (thread, "threads: 1 left running"),
    (subprocess_left, "subprocesses: 1 left behind"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES, ids=[change.__name__ for change, _ in CHANGES])
def test_a_change_is_told(change: Callable[[], Iterator[None]], words: str) -> None:
    before = State.of(snapshot())
    with change():
        after = State.of(snapshot())
    found = state.changes(before, after, nowhere, ())
    assert any(text.startswith(words) for text in found), found
    assert len(found) <= 2  # x87's control word follows the rounding mode
    excused = {"threads", "descriptors", "subprocesses"}
    assert bool(state.changes(before, after, nowhere, excused)) == (words.partition(":")[0] not in excused)


def test_what_is_added_can_be_left_out_but_not_what_is_closed() -> None:
    closing = os.open(os.devnull, os.O_RDONLY)
    before = State.of(snapshot())
    with thread(), descriptor():
        os.close(closing)
        after = state.without_additions(before, State.of(snapshot()))
    assert state.changes(before, after, nowhere, ()) == [f"descriptors: {closing} closed"]


def test_nothing_changes_by_looking() -> None:
    assert snapshot() == snapshot()


def test_what_is_about_to_go_is_waited_for() -> None:
    before = snapshot()
    one = threading.Thread(target=lambda: threading.Event().wait(0.02))
    one.start()
    started = one.native_id
    assert started in State.of(snapshot()).threads
    assert started not in State.of(state.settled(before, snapshot(), snapshot)).threads


def test_limits_are_told_by_name() -> None:
    code = (
        "import resource; from bitgate.isolation.state import State, changes;"
        "from bitgate.verify.watch import snapshot;"
        "before = State.of(snapshot()); resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64));"
        "print(changes(before, State.of(snapshot()), lambda: None, ()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['limits: RLIMIT_NOFILE']"
