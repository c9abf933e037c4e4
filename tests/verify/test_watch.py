"""Calls of a kernel's library are looked at, one after the other: a look at the end of one is the begin of the next."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from bitgate.isolation import state
from bitgate.kernel.runner import Conduct
from bitgate.verify import watch
from bitgate.verify.watch import Watch, undisturbed

DEVICE = SimpleNamespace(hip=SimpleNamespace(hipGetDevice=lambda: (0, 0)))
HANDLER = "signal handlers: SIGUSR2"


def watched(call: Callable[[], object]) -> list[str]:
    """What a call of a library is reported to change."""
    library = SimpleNamespace(family=SimpleNamespace(changes=()), conduct=Conduct(has_launched=True))
    one = Watch(DEVICE, library)
    call()
    return one.changes()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The snapshots that are taken."""
    every: list[bytes] = []
    take = watch.snapshot

    def counted() -> bytes:
        every.append(take())
        return every[-1]

    monkeypatch.setattr(watch, "snapshot", counted)
    return every


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


def test_undisturbed_one_snapshot_is_the_end_of_a_call_and_the_begin_of_the_next(taken: list[bytes]) -> None:
    with undisturbed():
        for calls in (1, 2, 3):
            assert watched(nothing) == []
            assert len(taken) == 1 + calls
    assert watched(nothing) == []
    assert len(taken) == 4 + 2


def test_what_a_later_call_changes_is_its_own() -> None:
    with undisturbed():
        assert watched(nothing) == []
        assert watched(handle) == [HANDLER]
        assert watched(nothing) == []


def test_a_call_that_changes_what_the_harness_has_changed_too_is_seen() -> None:
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
    one = os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", "input()"], os.environ)
    yield
    os.kill(one, signal.SIGKILL)
    os.waitpid(one, 0)


@contextmanager
def rounding() -> Iterator[None]:
    flushing()
    yield


@pytest.mark.parametrize("work", [descriptor, thread, variable, other_value, child, rounding])
def test_what_the_harness_does_between_two_calls_is_not_told_of_the_second(work: Callable[[], object]) -> None:
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
