"""Local processes as an engine: a limited number at a time, known to every controller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.ci.tasks import task_of, until, wait

from bitgate.core.errors import UsageError
from bitgate.lab import executors
from bitgate.lab.ci import task as tasks
from bitgate.lab.executors.executor import Task, TaskState
from bitgate.lab.executors.local import Local


def test_no_more_run_at_a_time_than_were_asked_for(tmp_path: Path) -> None:
    """Each run counts those beside it."""
    line = "touch {0}; ls *.now | wc -l; sleep 0.3; rm {0}"
    many = [task_of(tmp_path / f"t{number}", line.format(f"{number}.now")) for number in range(5)]
    local = Local(jobs=2)
    ended = wait(local, list(local.submit(many)))
    assert {status.state for status in ended.values()} == {TaskState.ENDED}
    assert {status.exit_code for status in ended.values()} == {0}
    beside = {int((task.folder / tasks.LOG).read_text()) for task in many}
    assert max(beside) <= 2


def test_an_exclusive_task_runs_beside_none(tmp_path: Path) -> None:
    line = "touch {0}; sleep 0.3; ls *.now | wc -l; rm {0}"
    many = [task_of(tmp_path / f"t{number}", line.format(f"{number}.now")) for number in range(4)]
    many[1] = replace(many[1], exclusive=True)
    local = Local(jobs=4)
    wait(local, list(local.submit(many)))
    assert (many[1].folder / tasks.LOG).read_text() == "1\n"


def test_those_that_wait_begin_in_their_order(tmp_path: Path) -> None:
    many = [task_of(tmp_path / f"t{number}", f"echo {number} >> order") for number in range(4)]
    local = Local(jobs=1)
    wait(local, list(local.submit(many)))
    assert (tmp_path / "order").read_text().split() == ["0", "1", "2", "3"]


def test_another_controller_takes_over_running_and_waiting_jobs(tmp_path: Path) -> None:
    """The first one is killed after it has begun one of two."""
    first = (
        "import sys; from pathlib import Path; from tests.ci.tasks import task_of;"
        "from bitgate.lab.executors.local import Local;"
        "tmp = Path(sys.argv[1]); local = Local(1); lines = ['echo one >> ran; while [ ! -e go ]; do sleep 0.1; done',"
        "'echo two >> ran'];"
        "handles = local.submit([task_of(tmp / f't{n}', line) for n, line in enumerate(lines)]);"
        "local.poll(handles); print('begun', flush=True); sys.stdin.read()"
    )
    controller = subprocess.Popen(
        [sys.executable, "-c", first, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with controller:
        assert controller.stdout
        assert controller.stdout.readline() == b"begun\n"
        controller.kill()
    handles = [str(tmp_path / "t0"), str(tmp_path / "t1")]
    second = Local(1)
    until(lambda: (tmp_path / "ran").exists())
    states = [status.state for status in second.poll(handles).values()]
    assert states == [TaskState.RUNNING, TaskState.WAITING]
    (tmp_path / "go").touch()
    assert {status.exit_code for status in wait(second, handles).values()} == {0}
    assert (tmp_path / "ran").read_text().split() == ["one", "two"]


def test_a_task_whose_processes_were_killed_is_lost(tmp_path: Path) -> None:
    local = Local()
    handles = list(local.submit([task_of(tmp_path / "t", "sleep 600")]))
    local.poll(handles)
    until(lambda: tasks.process_of(tmp_path / "t"))
    process = tasks.process_of(tmp_path / "t")
    assert process
    os.kill(process.pid, signal.SIGKILL)
    (status,) = wait(local, handles).values()
    assert (status.state, status.reason) == (TaskState.LOST, "its process died without an exit file")


def test_what_is_cancelled_ends_and_what_waits_never_begins(tmp_path: Path) -> None:
    local = Local(jobs=1)
    handles = list(local.submit([task_of(tmp_path / f"t{n}", f"touch ran{n}; sleep 600") for n in range(2)]))
    local.poll(handles)
    until(lambda: (tmp_path / "ran0").exists())
    local.cancel(handles)
    assert {status.state for status in local.poll(handles).values()} == {TaskState.CANCELLED}
    assert not (tmp_path / "ran1").exists()


def test_a_handle_that_nobody_knows_is_lost(tmp_path: Path) -> None:
    (status,) = Local().poll([str(tmp_path / "gone")]).values()
    assert status.state is TaskState.LOST


def test_an_engine_is_found_by_name_and_knows_its_options(tmp_path: Path) -> None:
    assert executors.executor("local", tmp_path, jobs=3).name == "local"
    with pytest.raises(UsageError, match="--executor locl: did you mean 'local'"):
        executors.executor("locl", tmp_path)
    with pytest.raises(UsageError, match="--option partition: local: known are none"):
        executors.executor("local", tmp_path, options={"partition": "gpu"})


def test_a_task_is_named_by_what_it_is(tmp_path: Path) -> None:
    task = Task(**{**vars(task_of(tmp_path, "true", name="gfx942", shard="2/6")), "attempt": 3})
    assert task.name == "gfx942_s2of6_a3"
