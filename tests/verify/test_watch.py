"""Calls of a kernel's library are looked at, one after the other: a look at the end of one is the begin of the next."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from bitgate.kernel.runner import LibraryState
from bitgate.verify.watch import Watch, undisturbed
from bitgate.worker import state

DEVICE: Any = SimpleNamespace(hip=SimpleNamespace(hipGetDevice=lambda: (0, 0)), host=None)
HANDLER = "signal handlers: SIGUSR2"


def watched(call: Callable[[], object]) -> list[str]:
    """What a call of a library is reported to change."""
    library: Any = SimpleNamespace(family=SimpleNamespace(changes=()), conduct=LibraryState(has_launched=True))
    one = Watch(DEVICE, library)
    call()
    return one.changes()


def test_threads_of_the_host_runtime_are_no_change_in_any_launch() -> None:
    """Those of its pool start with the first launch, which is a later run's if the first one is refused."""
    own: set[int] = set()
    host = SimpleNamespace(settings=lambda: b"", owns_thread=own.__contains__)
    device: Any = SimpleNamespace(hip=DEVICE.hip, host=host)
    library: Any = SimpleNamespace(family=SimpleNamespace(changes=()), conduct=LibraryState(has_launched=True))
    done = threading.Event()
    one, other = (threading.Thread(target=done.wait) for _ in range(2))
    watch = Watch(device, library)
    one.start()
    own.add(one.native_id or 0)
    assert watch.changes() == []
    watch = Watch(device, library)
    other.start()
    assert watch.changes() == ["threads: 1 left running"]
    done.set()
    one.join()
    other.join()


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    handler, limit = signal.getsignal(signal.SIGUSR2), resource.getrlimit(resource.RLIMIT_CORE)
    fp = state.fp_environment()
    yield
    signal.signal(signal.SIGUSR2, handler)
    resource.setrlimit(resource.RLIMIT_CORE, limit)
    state.restore_fp_environment(fp)
    os.environ.pop("BITGATE_TEST_WATCH", None)


def nothing() -> None: ...


def handle() -> None:
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)


COUNTED = """
from types import SimpleNamespace
from bitgate.kernel.runner import LibraryState
from bitgate.verify import watch

take, taken = watch.snapshot, []
watch.snapshot = lambda: taken.append(take()) or taken[-1]
device = SimpleNamespace(hip=SimpleNamespace(hipGetDevice=lambda: (0, 0)), host=None)
library = SimpleNamespace(family=SimpleNamespace(changes=()), conduct=LibraryState(has_launched=True))
def look():
    taken.clear()
    assert watch.Watch(device, library).changes() == []
    return len(taken)
print(look(), look())
with watch.undisturbed():
    print(look(), look(), look())
print(look())
"""


def test_undisturbed_a_snapshot_serves_two_calls() -> None:
    """In a separate process: one that has children is looked at whole each time, and so is any before Linux 6.2,
    which does not report how many descriptors are open."""
    begin = 1 if os.stat("/proc/self/fd").st_size else 2
    done = subprocess.run([sys.executable, "-c", COUNTED], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["2 2", f"2 {begin} {begin}", "2"]


def test_what_a_later_call_changes_is_its_own() -> None:
    with undisturbed():
        assert watched(nothing) == []
        assert watched(handle) == [HANDLER]
        assert watched(nothing) == []


def test_a_call_that_changes_what_the_harness_changed_is_seen() -> None:
    with undisturbed():
        assert watched(nothing) == []
        with descriptor():
            assert watched(handle) == [HANDLER]


def flushing() -> None:
    before = state.fp_environment()
    state.restore_fp_environment((before[0], before[1] | 0x8040))


@contextmanager
def descriptor() -> Iterator[None]:
    number = os.open(os.devnull, os.O_RDONLY)
    yield
    os.close(number)


@contextmanager
def thread() -> Iterator[None]:
    done = threading.Event()
    one = threading.Thread(target=done.wait)
    one.start()
    yield
    done.set()
    one.join()


@contextmanager
def variable() -> Iterator[None]:
    os.environ["BITGATE_TEST_WATCH"] = "1"
    yield


@contextmanager
def other_value() -> Iterator[None]:
    os.environ["PATH"] += ":/nowhere"
    yield
    os.environ["PATH"] = os.environ["PATH"].removesuffix(":/nowhere")


@contextmanager
def child() -> Iterator[None]:
    one = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(100)"])
    yield
    one.kill()
    one.wait()


@contextmanager
def another_child() -> Iterator[None]:
    """Beside one that was there before."""
    with child():
        assert watched(nothing) == []
        with child():
            yield


@contextmanager
def rounding() -> Iterator[None]:
    flushing()
    yield


@pytest.mark.parametrize("work", [descriptor, thread, variable, other_value, child, another_child, rounding])
def test_what_the_harness_does_between_calls_blames_no_call(work: Callable[[], Any]) -> None:
    with undisturbed():
        assert watched(nothing) == []
        with work():
            assert watched(nothing) == []
        assert watched(nothing) == []


def test_what_others_did_before_is_nobodys_change() -> None:
    with undisturbed():
        assert watched(nothing) == []
    handle()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with undisturbed():
        assert watched(nothing) == []
        assert watched(flushing) == ["fp environment: flush to zero, denormals are zero"]
        assert watched(nothing) == []
