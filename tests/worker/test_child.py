"""Whatever happens in a child, its parent has an answer or knows how it ended, in time, and nothing is left over."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bitgate.core.errors import UsageError
from bitgate.worker import zygote
from bitgate.worker.entry import TOKEN
from bitgate.worker.worker import Worker, WorkerDied

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def own_zygote() -> Iterator[None]:
    """One that finds the tests' modules."""
    earlier, zygote._here = zygote._here, None
    yield
    zygote._forget()
    zygote._here = earlier


@pytest.fixture(params=["program", "copy"])
def child(request: pytest.FixtureRequest, own_zygote: None) -> Iterator[Callable[[], Worker]]:
    """Children that are started as programs, and copies of a zygote: they are the same to their parent."""
    children: list[Worker] = []
    preload = ("tests.worker.behaviours",) if request.param == "copy" else ()

    def start(may_extend: bool = False) -> Worker:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        more: Any = {"environment": environment, "preload": preload, "may_extend": may_extend}
        one = Worker("tests.worker.behaviours:serve", printed.extend, **more)
        children.append(one)
        return one

    printed = bytearray()
    start.printed = printed  # type: ignore[attr-defined]
    yield start
    for one in children:
        one.end()


def test_an_answer_with_what_comes_before_it(child: Any) -> None:
    notes: list[Any] = []
    one = child()
    assert one.ask({"behaviour": "well"}, 20, notes.append) == {"well": True}
    assert one.ask({"behaviour": "print"}, 20, notes.append) == {"well": True}
    assert notes == ["on its way"] * 2
    one.end()
    assert b"hello from the child" in child.printed
    assert not one.is_usable


@pytest.mark.parametrize(
    ("behaviour", "reason", "hung"),
    [
        ("exit", "ended with exit code 0 and no verdict", False),
        ("_exit", "ended with exit code 0 and no verdict", False),
        ("sys_exit", "ended with exit code 0 and no verdict", False),
        ("abort", "died of SIGABRT", False),
        ("kill", "died of SIGKILL", False),
        ("terminate_group", "died of SIGTERM", False),
        ("stop", "was stopped by SIGSTOP", True),
        ("sleep", "no verdict within 1 s", True),
        ("garbage", "wrote into the channel", False),
        ("close", "closed the channel|closed or replaced the channel", False),
        ("replace", "closed or replaced the channel", False),
        ("fork", "ended with exit code 0|closed or replaced", False),
    ],
)
def test_an_end_is_reported_as_what_it_is(child: Any, behaviour: str, reason: str, hung: bool) -> None:
    one = child()
    one.ask({"behaviour": "well"}, 20)
    with pytest.raises(WorkerDied, match=reason) as ended:
        one.ask({"behaviour": behaviour}, 1 if behaviour == "sleep" else 60)
    assert ended.value.hung is hung
    assert not one.is_usable


@pytest.mark.parametrize("behaviour", ["_exit", "kill", "stop"])
def test_an_end_is_seen_where_no_descriptor_tells_of_it(
    child: Any, monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    def forbidden(process: int) -> int:
        raise PermissionError("pidfd_open is not for this sandbox")

    monkeypatch.setattr(os, "pidfd_open", forbidden)
    with pytest.raises(WorkerDied, match=r"exit code 0|SIGKILL|SIGSTOP"):
        child().ask({"behaviour": behaviour}, 10)


@pytest.mark.parametrize("behaviour", ["silent", "silent_exit"])
def test_what_raises_instead_of_a_text_ends_without_a_traceback(child: Any, behaviour: str) -> None:
    with pytest.raises(WorkerDied, match="ended with exit code"):
        child().ask({"behaviour": behaviour}, 20)
    assert b"Traceback" not in child.printed


def test_a_refusal_without_text_is_one(child: Any) -> None:
    with pytest.raises(UsageError, match=r"\(a _SilentRefusal without text\)"):
        child().ask({"behaviour": "silent_refusal"}, 20)


def test_a_defect_of_ours_is_no_end(child: Any) -> None:
    one = child()
    with pytest.raises(RuntimeError, match="division by zero"):
        one.ask({"behaviour": "defect"}, 20)
    assert one.ask({"behaviour": "well"}, 20) == {"well": True}


def test_it_outlives_the_thread_that_started_it(child: Any) -> None:
    started: list[Worker] = []

    def start() -> None:
        started.append(child())
        assert started[0].ask({"behaviour": "well"}, 20) == {"well": True}

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert started[0].ask({"behaviour": "well"}, 20) == {"well": True}


def test_a_stuck_child_says_where_it_stands(child: Any) -> None:
    one = child()
    one.ask({"behaviour": "well"}, 20)
    with pytest.raises(WorkerDied, match="no verdict"):
        one.ask({"behaviour": "sleep"}, 1)
    assert b"behaviours.py" in child.printed


@pytest.mark.parametrize("behaviour", ["mute", "flood", "sleep"])
def test_a_child_is_late_even_while_others_are_listened_to(child: Any, behaviour: str) -> None:
    """Who closed its output, or prints without end, does not keep its parent from the clock."""
    one = child()
    one.ask({"behaviour": "well"}, 20)
    asked = one.put({"behaviour": behaviour}, 1.0)
    while not one.hears(asked):
        select.select([one.bell], [], [], 0.1)
    with pytest.raises(WorkerDied, match="no verdict within 1 s") as ended:
        one.answer(asked)
    assert ended.value.hung


@pytest.mark.parametrize("is_listened_to", [True, False])
def test_a_note_may_give_the_answer_more_time(child: Any, is_listened_to: bool) -> None:
    one = child(may_extend=True)
    one.ask({"behaviour": "well"}, 20)
    asked = one.put({"behaviour": "well", "more": 60, "sleeps": 2}, 1.0)
    while is_listened_to and not one.hears(asked):
        select.select([one.bell], [], [], 0.1)
    assert one.answer(asked) == {"well": True}


def test_a_note_of_a_users_code_gives_no_more_time(child: Any) -> None:
    one = child()
    one.ask({"behaviour": "well"}, 20)
    with pytest.raises(WorkerDied, match="no verdict within 1 s"):
        one.ask({"behaviour": "well", "more": 60, "sleeps": 1000}, 1)


def test_and_less(child: Any) -> None:
    one = child(may_extend=True)
    with pytest.raises(WorkerDied, match="no verdict within 1 s") as ended:
        one.ask({"behaviour": "well", "more": 1, "sleeps": 1000}, 3600)
    assert (ended.value.hung, ended.value.late) == (True, True)


def test_what_is_put_to_one_that_has_died_takes_no_answer_away(child: Any) -> None:
    one = child()
    first, last = one.put({"behaviour": "well"}, 20), one.put({"behaviour": "kill"}, 20)
    while one.is_alive:
        time.sleep(0.01)
    late = one.put({"behaviour": "well"}, 20)
    assert one.answer(first) == {"well": True}
    for asked in (last, late):
        with pytest.raises(WorkerDied):
            one.answer(asked)


@pytest.mark.parametrize("behaviour", ["daemon", "fork"])
def test_nothing_that_it_started_outlives_it(child: Any, behaviour: str) -> None:
    one = child()
    try:
        one.ask({"behaviour": behaviour}, 20)
    except WorkerDied:
        assert behaviour == "fork"
    one.end()
    assert [pid for pid in _processes() if one._token.encode() in _environment(pid)] == []


def _processes() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdecimal()]


def _environment(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def test_the_token_is_in_the_environment_of_the_child_alone() -> None:
    assert TOKEN not in os.environ
