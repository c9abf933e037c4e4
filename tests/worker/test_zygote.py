"""A copy of a zygote is to its parent, and to itself, what a program would be; and it gets nothing that is not its own.

What happens to copies that end, hang or are stopped is in ``test_child.py``.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.worker.copies import VARIABLE

from bitgate.worker import zygote
from bitgate.worker.child import begin_zygote
from bitgate.worker.entry import TOKEN
from bitgate.worker.process import ExecutedProcess, ForkedProcess
from bitgate.worker.shared_memory import create_memory
from bitgate.worker.worker import Worker, WorkerDied

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def own_zygote() -> Iterator[None]:
    """One that finds the tests' modules."""
    earlier, zygote._here = zygote._here, None
    yield
    zygote._forget()
    zygote._here = earlier


@pytest.fixture
def copy(own_zygote: None) -> Iterator[Callable[..., Worker]]:
    copies: list[Worker] = []

    def start(passes: tuple[int, ...] = (), has_zygote: bool = False, **variables: str) -> Worker:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        one = Worker(
            "tests.worker.copies:serve",
            lambda data: None,
            environment=environment | variables,
            passes=passes,
            preload=("tests.worker.copies:load",),
            has_zygote=has_zygote,
        )
        copies.append(one)
        one.start()
        return one

    yield start
    for one in copies:
        one.end()


def process_of(worker: Worker) -> Any:
    assert worker._child is not None
    return worker._child._process


def facts(worker: Worker, **question: Any) -> dict[str, Any]:
    found: dict[str, Any] = worker.ask({"do": "facts", **question}, 60)
    return found


def wait_for_the_end_of(process: int) -> None:
    with suppress(psutil.NoSuchProcess):
        while psutil.Process(process).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)


def test_each_is_a_process_that_shares_what_was_loaded(copy: Any) -> None:
    first, second = facts(copy()), facts(copy())
    assert first["loaded_in"] == second["loaded_in"] == [first["parent"]]
    assert first["process"] == first["session"] != second["process"]
    assert first["threads"] == 1


def test_its_number_is_known_before_it_has_answered(copy: Any) -> None:
    one = copy()
    assert process_of(one).pid == facts(one)["process"]


def test_it_is_marked_as_its_own_where_the_system_looks(copy: Any) -> None:
    one = copy()
    assert facts(one)["token"] == f"{TOKEN}={one._token}"


def test_random_numbers_are_not_shared(copy: Any) -> None:
    assert facts(copy())["random"] != facts(copy())["random"]


def test_it_has_the_descriptors_that_it_was_given(copy: Any) -> None:
    memory = create_memory()
    os.pwrite(memory, b"shared", 0)
    try:
        found = facts(copy(passes=(memory,)), passed=[memory])
    finally:
        os.close(memory)
    assert found["passed"] == ["shared"]
    kinds = [name.partition(":")[0].partition(" ")[0] for name in found["descriptors"]]
    assert sorted(kinds) == ["/dev/null", "/memfd", "pipe", "pipe", "pipe", "pipe"]


def test_it_is_in_its_parents_folder(copy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts(copy())
    monkeypatch.chdir(tmp_path)
    one = copy()
    assert (facts(one)["folder"], type(process_of(one))) == (str(tmp_path), ForkedProcess)


def test_it_has_its_own_settings(copy: Any) -> None:
    facts(copy())
    one = copy(**{VARIABLE: "7"})
    assert (facts(one)["variable"], type(process_of(one))) == ("7", ForkedProcess)
    assert facts(copy())["variable"] != "7"


@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH", "OPENBLAS_NUM_THREADS", "BITGATE_DATA_ROOT", "PYTHONHASHSEED"])
def test_what_is_read_at_the_start_is_no_copys(copy: Any, name: str) -> None:
    facts(copy())
    assert type(process_of(copy(**{name: "1"}))) is ExecutedProcess


def test_it_has_its_parents_soft_limits(copy: Any) -> None:
    facts(copy())
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (4096, hard))
    try:
        one = copy()
        assert (facts(one)["core"], type(process_of(one))) == (4096, ForkedProcess)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def test_another_mask_is_no_copys(copy: Any) -> None:
    facts(copy())
    before = os.umask(0o077)
    try:
        assert type(process_of(copy())) is ExecutedProcess
    finally:
        os.umask(before)


def test_a_zygote_cannot_be_read_by_its_copies(copy: Any) -> None:
    assert copy().ask({"do": "read_parent"}, 60) == "PermissionError"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_zygote_that_was_ended_or_stopped_is_replaced(
    copy: Any, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bitgate.worker.process.REPORT_SECONDS", 0.5)
    one = copy()
    earlier = facts(one)["parent"]
    with suppress(WorkerDied):  # it ends with its zygote
        one.ask({"do": "signal_parent", "signal": number.name}, 60)
    while number is signal.SIGKILL and one.is_alive:
        time.sleep(0.01)
    one.end()
    later = copy()
    assert facts(later)["parent"] != earlier
    assert type(process_of(later)) is ForkedProcess


def test_a_zygote_of_an_earlier_environment_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin of pytest may set variables before the first judge is needed, and is no reason to start each anew."""
    monkeypatch.setattr(zygote, "_here", None)
    begin_zygote(())
    first = zygote._here
    begin_zygote(())
    assert zygote._here is first
    monkeypatch.setenv("OF_A_PLUGIN", "1")
    begin_zygote(())
    assert zygote._here is not first
    zygote._forget()


def test_nothing_of_a_copy_is_left(copy: Any) -> None:
    one = copy()
    process = facts(one)["process"]
    one.end()
    wait_for_the_end_of(process)


def test_a_copy_that_ends_its_zygote_does_not_outlive_it(copy: Any) -> None:
    one = copy()
    found = facts(one)
    one.put({"do": "outlive_parent"}, 60)
    wait_for_the_end_of(found["parent"])
    one.end()
    wait_for_the_end_of(found["process"])


def test_a_judges_launchers_are_copies_of_its_beginning(copy: Any) -> None:
    """A zygote of the judge's own forks them, which is a copy of the judge from before it knew anything."""
    judge = copy(has_zygote=True)
    mine, below = facts(judge), judge.ask({"do": "ask_below"}, 60)
    assert below["loaded_in"] == mine["loaded_in"]
    assert below["parent"] not in (mine["process"], mine["parent"])
    assert below["token"] != mine["token"]
    assert below["channels"] == 1
    assert Path(f"/proc/{below['parent']}/stat").read_text().rpartition(")")[2].split()[1] == str(mine["process"])


def test_a_zygote_ends_with_its_judge(copy: Any) -> None:
    judge = copy(has_zygote=True)
    parent = judge.ask({"do": "ask_below"}, 60)["parent"]
    judge.end()
    wait_for_the_end_of(parent)
