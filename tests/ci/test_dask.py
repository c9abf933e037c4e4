"""A Dask of several processes as an engine: workers of a target take its shards, and one that dies is reported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import distributed
import pytest
from junitparser import JUnitXml
from tests.ci.dask_fixture import DaskFixture, dask_fixture
from tests.ci.tasks import task_of, until, wait

from bitgate.core.errors import UsageError
from bitgate.lab import executors
from bitgate.lab.ci import task as tasks
from bitgate.lab.ci.journal import AttemptEnded
from bitgate.lab.executors import dask_worker
from bitgate.lab.executors.executor import Executor, Task, TaskState
from bitgate.results.shard import Shard


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskFixture]:
    with dask_fixture(tmp_path_factory.mktemp("dask"), {"a": "gfx942", "b": "gfx90a"}) as cluster:
        yield cluster


def engine(cluster: DaskFixture, night: Path, **options: str) -> Executor:
    return executors.executor("dask", night, 0, {"scheduler": cluster.address, **options})


def on(target: str, task: Task) -> Task:
    return replace(task, constraint=target)


@contextmanager
def busy(cluster: DaskFixture, folder: Path) -> Iterator[None]:
    """The worker of gfx942 has something to do meanwhile."""
    task = on("gfx942", task_of(folder / "busy", "while [ ! -e go ]; do sleep 0.1; done"))
    dask = engine(cluster, folder)
    handles = list(dask.submit([task]))
    until(lambda: dask_worker.begun(task.folder))
    yield
    (folder / "go").touch()
    wait(dask, handles)


def test_a_shard_runs_on_a_worker_of_its_target(cluster: DaskFixture, tmp_path: Path) -> None:
    lines = {"gfx942": "echo $WORD; exit 1", "gfx90a": "echo $WORD"}
    new = [on(target, task_of(tmp_path / target, line)) for target, line in lines.items()]
    dask = engine(cluster, tmp_path)
    first, second = wait(dask, list(dask.submit(new))).values()
    assert (first.state, first.exit_code, first.node) == (TaskState.ENDED, 1, "a")
    assert (second.state, second.exit_code, second.node) == (TaskState.ENDED, 0, "b")
    assert (tmp_path / "gfx90a" / tasks.LOG).read_text() == "from the task\n"


def test_no_worker_of_a_target_is_no_capacity_after_a_while(cluster: DaskFixture, tmp_path: Path) -> None:
    dask = engine(cluster, tmp_path, absence="1")
    (status,) = wait(dask, list(dask.submit([on("gfx1201", task_of(tmp_path / "t", "true"))]))).values()
    assert status.state is TaskState.NO_CAPACITY
    assert status.reason == "no worker with --resources gfx1201=1 (workers have gfx90a, gfx942)"


@pytest.mark.parametrize("times", [1, 2])
def test_an_unexpected_greeting_from_dask_is_asked_for_again(
    cluster: DaskFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """The client asserts that a scheduler's first message comes alone; beside a busy one it need not."""
    connect, asked = distributed.Client, []

    def client(*arguments: Any, **options: Any) -> Any:
        asked.append(arguments)
        assert len(asked) > times
        return connect(*arguments, **options)

    monkeypatch.setattr(distributed, "Client", client)
    if times == 1:
        dask = engine(cluster, tmp_path)
        (status,) = wait(dask, list(dask.submit([on("gfx942", task_of(tmp_path / "t", "true"))]))).values()
        assert (status.state, status.exit_code) == (TaskState.ENDED, 0)
    else:
        with pytest.raises(UsageError, match="no Dask scheduler answers"):
            engine(cluster, tmp_path)
    assert len(asked) == 2


def test_what_runs_and_what_waits_is_cancelled(cluster: DaskFixture, tmp_path: Path) -> None:
    new = [on("gfx942", task_of(tmp_path / f"t{number}", "sleep 600")) for number in range(2)]
    dask = engine(cluster, tmp_path)
    handles = list(dask.submit(new))
    until(lambda: any(tasks.process_of(task.folder) for task in new))
    dask.cancel(handles)
    assert {status.state for status in dask.poll(handles).values()} == {TaskState.CANCELLED}


def test_another_controller_goes_on_with_what_runs(cluster: DaskFixture, tmp_path: Path) -> None:
    """The first is killed, with its client, while one task runs and one waits."""
    first = (
        "import sys; from dataclasses import replace; from pathlib import Path; from tests.ci.tasks import task_of;"
        "from bitgate.lab import executors; tmp, address = Path(sys.argv[1]), sys.argv[2];"
        "dask = executors.executor('dask', tmp, 0, {'scheduler': address});"
        "lines = ['while [ ! -e go ]; do sleep 0.1; done; echo one >> ran', 'echo two >> ran'];"
        "dask.submit([replace(task_of(tmp / f't{n}', line), constraint='gfx942') for n, line in enumerate(lines)]);"
        "print('submitted', flush=True); sys.stdin.read()"
    )
    controller = subprocess.Popen(
        [sys.executable, "-c", first, str(tmp_path), cluster.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with controller:
        assert controller.stdout
        assert controller.stdout.readline() == b"submitted\n"
        until(lambda: dask_worker.begun(tmp_path / "t0"))
        controller.kill()
    handles = [str(tmp_path / "t0"), str(tmp_path / "t1")]
    second = engine(cluster, tmp_path)
    assert [status.state for status in second.poll(handles).values()] == [TaskState.RUNNING, TaskState.WAITING]
    (tmp_path / "go").touch()
    assert {status.exit_code for status in wait(second, handles).values()} == {0}
    assert (tmp_path / "ran").read_text().split() == ["one", "two"]


def test_a_task_that_nobody_submitted_is_lost(cluster: DaskFixture, tmp_path: Path) -> None:
    tasks.store(on("gfx942", task_of(tmp_path / "t", "true")))
    (status,) = wait(engine(cluster, tmp_path), [str(tmp_path / "t")]).values()
    assert (status.state, status.reason) == (TaskState.LOST, "the scheduler forgot it")


def test_a_folder_that_workers_do_not_see_is_said_in_a_line(cluster: DaskFixture, tmp_path: Path) -> None:
    task = on("gfx942", task_of(tmp_path / "t", "true"))
    with busy(cluster, tmp_path):
        dask = engine(cluster, tmp_path)
        handles = list(dask.submit([task]))
        (task.folder / tasks.TASK).rename(tmp_path / "elsewhere")
    (status,) = wait(dask, handles).values()
    assert status.state is TaskState.LOST
    assert status.reason == f"a does not see {task.folder}: a night's folder must be one that all workers share"


def test_a_dead_worker_fails_its_node_and_retries_go_elsewhere(cluster: DaskFixture, tmp_path: Path) -> None:
    """The last test of this Dask. Dask would start the task again by itself; here only the night decides that."""
    task = on("gfx90a", task_of(tmp_path / "t1", "echo ran >> ran; sleep 600"))
    dask = engine(cluster, tmp_path)
    handles = list(dask.submit([task]))
    until((tmp_path / "ran").exists)
    cluster.add("c", "gfx90a")
    cluster.kill("b")
    (status,) = wait(dask, handles).values()
    assert (status.state, status.node) == (TaskState.NODE_FAILED, "b")
    again = replace(task_of(tmp_path / "t2", "true"), constraint="gfx90a", avoid=("b",), attempt=2)
    (status,) = wait(dask, list(dask.submit([again]))).values()
    assert (status.state, status.exit_code, status.node) == (TaskState.ENDED, 0, "c")
    assert (tmp_path / "ran").read_text() == "ran\n"

    long = on("gfx90a", task_of(tmp_path / "t3", "echo > began; sleep 600"))
    dask.submit([long])
    until((tmp_path / "began").exists)
    (late,) = dask.submit([replace(again, folder=tmp_path / "t4", attempt=3)])
    cluster.kill("c")
    until(lambda: dask.poll([late])[late].reason.startswith("no worker with --resources gfx90a=1"))
    cluster.add("d", "gfx90a")
    assert wait(dask, [late])[late].node == "d", "all that it was meant for have gone"
    assert cluster.workers["a"].poll() is None, "a worker that lacks what a task needs would die of it"


def test_a_scheduler_that_is_away_is_waited_for(tmp_path: Path) -> None:
    """Longer than a client waits, which is closed then; tasks that end meanwhile are known by their folders."""
    with dask_fixture(tmp_path / "dask", {"a": "gfx942"}) as cluster:
        dask = engine(cluster, tmp_path, absence="40")
        runs = on("gfx942", task_of(tmp_path / "t1", "while [ ! -e go ]; do sleep 0.1; done"))
        handles = list(dask.submit([runs]))
        until(lambda: dask_worker.begun(runs.folder))  # Dask may begin with either of two
        handles += dask.submit([on("gfx942", task_of(tmp_path / "t2", "true"))])
        assert cluster.scheduler
        cluster.scheduler.kill()
        until(lambda: "no Dask scheduler answers" in dask.poll(handles)[handles[1]].reason)
        assert {status.state for status in dask.poll(handles).values()} <= {TaskState.WAITING, TaskState.RUNNING}
        ended = wait(dask, handles)
        assert ended[handles[1]].state is TaskState.LOST
        assert ended[handles[1]].reason.startswith("the Dask scheduler does not answer: ")
        with pytest.raises(UsageError, match=r"has not answered for 40 s: .* go on with --resume"):
            dask.submit([on("gfx942", task_of(tmp_path / "t3", "true"))])


def test_a_night_that_loses_a_worker_has_a_verdict_a_case(lab: Callable[..., Any], tmp_path: Path) -> None:
    """The worker dies with a case that waits; another worker of the target answers what it did not."""
    mine, place = lab(4), ("host_for_gfx942", "s1of1")
    (mine.folder / "hold").touch()
    with dask_fixture(tmp_path / "dask", {"a": "gfx942", "b": "gfx942", "c": "gfx90a"}) as cluster:
        night = ["--executor=dask", f"--option=scheduler={cluster.address}"]
        controller = mine.start("submit", "-n0", *night, "--target=host_for_gfx942", "--target=host_for_gfx90a")
        until(lambda: mine.results(*place) or controller.poll() is not None)
        lost = dask_worker.begun(mine.attempt(*place))
        assert lost, controller.communicate()
        cluster.kill(lost.name)
        until(lambda: any(isinstance(event, AttemptEnded) and event.target == place[0] for event in mine.events))
        mine.release()
        said = controller.communicate(timeout=300)
    assert controller.returncode == 0, said
    assert "GREEN: 8 verdicts on host_for_gfx90a, host_for_gfx942" in mine.summary
    ran = mine.state.shards["host_for_gfx942", Shard(1, 1)].attempts
    ends = [(one.status.state, one.status.node) for one in ran]
    assert ends[0] == (TaskState.NODE_FAILED, lost.name)
    assert ends[1] == (TaskState.ENDED, {"a": "b", "b": "a"}[lost.name])
    assert f"host_for_gfx942 ran again (attempt 2) on {ends[1][1]}" in mine.summary
    junit = JUnitXml.fromfile(str(mine.night / "merged" / "junit.xml"))
    named = Counter((suite.name, case.name) for suite in junit for case in suite)
    assert len(named) == sum(named.values()) == 8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "name the scheduler: --option scheduler=tcp://HOST:8786"),
        ({"schedular": "x"}, "--option schedular: dask: did you mean 'scheduler'"),
        ({"scheduler": "tcp://127.0.0.1:8", "absence": "soon"}, "--option absence=soon: give seconds"),
        ({"scheduler": "nowhere"}, "--option scheduler=nowhere: no Dask scheduler answers"),
    ],
)
def test_what_is_wrong_with_an_option_is_said_in_a_line(tmp_path: Path, options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        executors.executor("dask", tmp_path, 0, options)


def test_without_dask_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"distributed is not installed: pip install 'bitgate\[dask\]'"):
        executors.executor("dask", tmp_path, 0, {"scheduler": "tcp://lab:8786"})
