"""One task's wrapper, with real processes: what it leaves after any end of the run."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.ci.tasks import python, task_of, until

from bitgate.core.errors import UsageError
from bitgate.lab.ci import task as tasks
from bitgate.lab.executors.executor import Task, TaskState


def _start(task: Task) -> subprocess.Popen[bytes]:
    return subprocess.Popen(tasks.wrapper(tasks.store(task)), stderr=subprocess.PIPE)


def _run(task: Task) -> int:
    with _start(task) as process:
        return process.wait()


def _said(task: Task) -> str:
    log = task.folder / tasks.LOG
    return log.read_text() if log.exists() else ""


def test_a_run_has_its_tasks_environment_and_its_output_is_kept(tmp_path: Path) -> None:
    task = task_of(tmp_path / "a1", "echo $WORD; pwd; echo loud >&2; exit 3")
    assert _run(task) == 3
    assert _said(task).splitlines() == ["from the task", str(tmp_path), "loud"]
    status = tasks.ended(task.folder)
    assert status
    assert (status.state, status.exit_code, status.node) == (TaskState.ENDED, 3, tasks.node())


def test_a_task_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    task = task_of(tmp_path / "a1", "true", shard="2/3")
    assert tasks.read(tasks.store(task)) == task


def test_a_run_that_a_signal_ends_says_so_in_words(tmp_path: Path) -> None:
    task = task_of(tmp_path / "a1", "kill -SEGV $$")
    assert _run(task) == 128 + signal.SIGSEGV
    status = tasks.ended(task.folder)
    assert status
    assert status.state is TaskState.ENDED
    assert status.reason == "its process died of SIGSEGV"


def test_a_command_that_is_not_there_is_an_end_too(tmp_path: Path) -> None:
    task = task_of(tmp_path / "a1", "true")
    task = Task(**{**vars(task), "command": ("no-such-program",)})
    assert _run(task) == 127
    status = tasks.ended(task.folder)
    assert status
    assert "no-such-program" in status.reason


ORDERLY = python(
    'import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (print("in order"), sys.exit(130)));'
    ' print("begun", flush=True); time.sleep(600)'
)
DEAF = "trap '' TERM; echo begun; sleep 600"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_ends_the_wrapper_ends_the_run_in_order(tmp_path: Path, number: signal.Signals) -> None:
    task = task_of(tmp_path / "a1", ORDERLY)
    with _start(task) as process:
        until(lambda: "begun" in _said(task))
        process.send_signal(number)
        assert process.wait() == 130
    status = tasks.ended(task.folder)
    assert status
    assert status.state is TaskState.CANCELLED
    assert "in order" in _said(task)


def test_who_ends_both_at_once_may_be_heard_by_the_run_first(tmp_path: Path) -> None:
    task = task_of(tmp_path / "a1", "(sleep 0.05; kill -TERM $PPID) & kill -TERM $$")
    assert _run(task) == 143
    status = tasks.ended(task.folder)
    assert status
    assert (status.state, status.exit_code) == (TaskState.CANCELLED, 143)


def test_a_run_out_of_time_ends_in_order(tmp_path: Path) -> None:
    task = task_of(tmp_path / "a1", ORDERLY, minutes=3 / 60)
    _run(task)
    status = tasks.ended(task.folder)
    assert status
    assert status.state is TaskState.TIMED_OUT
    assert status.reason == "it had not ended after 0.05 minutes"


def test_a_run_that_hears_nothing_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "GRACE_SECONDS", 0.5)
    task = task_of(tmp_path / "a1", f"({DEAF}) & echo $! > child; {DEAF}", minutes=1 / 60)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    try:
        tasks.store(task)
        assert tasks.run(task) == 128 + signal.SIGKILL
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    status = tasks.ended(task.folder)
    assert status
    assert status.state is TaskState.TIMED_OUT
    child = int((tmp_path / "child").read_text())
    until(lambda: not _is_there(child))


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()


def test_a_killed_wrapper_ends_its_run_and_leaves_no_result(tmp_path: Path) -> None:
    task = task_of(tmp_path / "a1", "echo $$ > run; sleep 600")
    with _start(task) as process:
        until(lambda: (tmp_path / "run").exists() and (tmp_path / "run").read_text())
        process.kill()
    run = int((tmp_path / "run").read_text())
    until(lambda: not _is_there(run))
    assert tasks.ended(task.folder) is None
    known = tasks.process_of(task.folder)
    assert known
    assert not known.is_alive


def test_one_task_is_run_once(tmp_path: Path) -> None:
    task = task_of(tmp_path / "a1", "echo once >> count")
    assert _run(task) == 0
    with _start(task) as second:
        _, said = second.communicate()
    assert second.returncode == 2
    assert said.decode().splitlines() == [
        f"bitgate: {task.folder}: was started before (process.json): submit another attempt"
    ]
    assert (tmp_path / "count").read_text() == "once\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "not JSON"), ("[]", "Expected 'object'"), ('{"target": "../.."}', "target"), ("{" * 100, "not JSON")],
)
def test_a_damaged_task_is_one_line(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "task.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=why) as caught:
        tasks.read(file)
    assert str(file) in str(caught.value)


def test_a_damaged_exit_file_is_no_end_that_can_be_trusted(tmp_path: Path) -> None:
    (tmp_path / tasks.EXIT).write_text('{"state": "ended"')
    status = tasks.ended(tmp_path)
    assert status
    assert status.state is TaskState.LOST
    assert "exit.json: not JSON" in status.reason
