"""Slurm as an engine, on a real Slurm of this machine: which task runs where, and how ends are distinguished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.ci.slurm_fixture import SlurmFixture, slurm_fixture
from tests.ci.tasks import python, task_of, until, wait

from bitgate.core.errors import UsageError
from bitgate.lab.ci import task as tasks
from bitgate.lab.executors import executor
from bitgate.lab.executors.executor import Task, TaskState, TaskStatus
from bitgate.lab.executors.slurm import Handle, Slurm

pytestmark = pytest.mark.needs("slurm")

NODES = {"n1": "gfx942,cdna3", "n2": "gfx942,cdna3", "n3": "gfx1201,rdna4"}
WHERE = 'echo "$SLURMD_NODENAME $SLURM_ARRAY_JOB_ID $WORD"'
FOREVER = "touch began; exec sleep 600"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmFixture]:
    with slurm_fixture(tmp_path_factory.mktemp("slurm"), NODES) as cluster:
        yield cluster


@pytest.fixture
def slurm(cluster: SlurmFixture, tmp_path: Path) -> Slurm:
    return Slurm(tmp_path / "slurm")


def at(target: str, folder: Path, line: str, **fields: object) -> Task:
    return replace(task_of(folder, line, name=target), constraint=target, **fields)  # type: ignore[arg-type]


def said(task: Task) -> list[str]:
    return (task.folder / tasks.LOG).read_text().split()


def test_each_target_runs_on_its_machines_as_one_array(slurm: Slurm, tmp_path: Path) -> None:
    many = [at(("gfx942", "gfx1201")[n % 2], tmp_path / f"t{n}", f"{WHERE}; exit {n}") for n in range(6)]
    handles = list(slurm.submit(many))
    ended = wait(slurm, handles)
    assert [ended[handle].state for handle in handles] == [TaskState.ENDED] * 6
    assert [ended[handle].exit_code for handle in handles] == [0, 1, 2, 3, 4, 5]
    for task, handle in zip(many, handles, strict=True):
        node, _, *word = said(task)
        assert node == ended[handle].node
        assert task.target in NODES[node]
        assert word == ["from", "the", "task"]
    arrays = {task.target: {said(other)[1] for other in many if other.target == task.target} for task in many}
    assert {target: len(ids) for target, ids in arrays.items()} == {"gfx942": 1, "gfx1201": 1}


def test_gpus_and_whole_machines_are_asked_for(slurm: Slurm, tmp_path: Path) -> None:
    line = "scontrol show job --oneliner $SLURM_JOB_ID"
    asking = at("gfx942", tmp_path / "one", line, gpus=1)
    alone = at("gfx942", tmp_path / "two", line, exclusive=True)
    wait(slurm, list(slurm.submit([asking, alone])))
    assert "TresPerNode=gres:gpu:1" in said(asking)
    assert "OverSubscribe=NO" in said(alone)
    assert "OverSubscribe=NO" not in said(asking)


def test_a_target_without_a_machine_is_no_capacity(slurm: Slurm, tmp_path: Path) -> None:
    handles = slurm.submit([at("gfx950", tmp_path / "t1", WHERE), at("gfx1201", tmp_path / "t2", WHERE, gpus=8)])
    first, second = wait(slurm, list(handles)).values()
    assert (first.state, first.reason) == (TaskState.NO_CAPACITY, "Invalid feature specification")
    assert (second.state, second.reason) == (TaskState.NO_CAPACITY, "Requested node configuration is not available")


def test_a_shard_that_failed_runs_on_another_machine_if_any(slurm: Slurm, tmp_path: Path) -> None:
    elsewhere = at("gfx942", tmp_path / "t1", WHERE, avoid=("n1",))
    only_there = at("gfx1201", tmp_path / "t2", WHERE, avoid=("n3",))
    wait(slurm, list(slurm.submit([elsewhere, only_there])))
    assert [said(elsewhere)[0], said(only_there)[0]] == ["n2", "n3"]


def begun(slurm: Slurm, task: Task, *others: Task) -> list[str]:
    """Submitted, and the first of them runs."""
    handles = list(slurm.submit([task, *others]))
    until(lambda: tasks.process_of(task.folder) and (task.root / "began").exists())
    until(lambda: slurm.poll(handles)[handles[0]].state is TaskState.RUNNING)
    return handles


def test_a_job_whose_process_was_killed_is_lost(slurm: Slurm, tmp_path: Path) -> None:
    task = at("gfx942", tmp_path / "t", FOREVER)
    handles = begun(slurm, task)
    process = tasks.process_of(task.folder)
    assert process
    os.kill(process.pid, signal.SIGKILL)
    (status,) = wait(slurm, handles).values()
    assert (status.state, status.node, status.reason) == (TaskState.LOST, process.node, "its job died of SIGKILL")


def test_a_run_whose_process_was_killed_ends_with_its_signal(slurm: Slurm, tmp_path: Path) -> None:
    (status,) = wait(slurm, list(slurm.submit([at("gfx942", tmp_path / "t", "kill -9 $$")]))).values()
    assert (status.state, status.exit_code) == (TaskState.ENDED, 137)


EATS = python("import time; x = bytearray(2 << 30); time.sleep(20)")


def test_a_job_out_of_memory_is_told_and_gets_all_of_it(slurm: Slurm, tmp_path: Path) -> None:
    """By Slurm's state; a process of the run that was killed counts, though the run ended by itself."""
    small = at("gfx942", tmp_path / "t1", EATS)
    survives = at("gfx942", tmp_path / "t2", f"({EATS}); exit 1")
    first, second = wait(slurm, list(slurm.submit([small, survives]))).values()
    assert (first.state, second.state) == (TaskState.OUT_OF_MEMORY,) * 2, (first, second)
    fits = at("gfx942", tmp_path / "t3", EATS.replace("sleep(20)", "sleep(0)"), exclusive=True, all_memory=True)
    (status,) = wait(slurm, list(slurm.submit([fits]))).values()
    assert (status.state, status.exit_code) == (TaskState.ENDED, 0)


def test_a_slurm_that_watches_memory_itself_says_so_in_a_log(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    with slurm_fixture(tmp_path / "s", {"n1": "gfx942"}, has_groups=False):
        slurm = Slurm(tmp_path / "logs")
        (status,) = wait(slurm, list(slurm.submit([at("gfx942", tmp_path / "t", EATS)]))).values()
    assert status.state is TaskState.OUT_OF_MEMORY
    assert status.reason.startswith("Slurm ended it for lack of memory: see ")


def test_cancelled_here_or_by_somebody_else(slurm: Slurm, tmp_path: Path) -> None:
    one, two = (at("gfx942", tmp_path / name, FOREVER) for name in ("t1", "t2"))
    handles = begun(slurm, one, two)
    subprocess.run(["scancel", handles[0].split(":")[0]], check=True)
    slurm.cancel(handles[1:])
    assert [status.state for status in wait(slurm, handles).values()] == [TaskState.CANCELLED] * 2
    slurm.cancel(handles)  # what is over is left alone


def test_slurms_word_counts_if_a_run_died_before_its_wrapper(slurm: Slurm, tmp_path: Path) -> None:
    task = at("gfx942", tmp_path / "t", FOREVER)
    handles = begun(slurm, task)
    tasks.leave(task.folder, TaskStatus(TaskState.ENDED, 143, "n1", "its process died of SIGTERM"))
    assert slurm.poll(handles)[handles[0]].state is TaskState.RUNNING
    slurm.cancel(handles)
    assert slurm.poll(handles)[handles[0]].state is TaskState.CANCELLED


def test_preempted_by_work_that_goes_first(slurm: Slurm, tmp_path: Path) -> None:
    handles = begun(slurm, at("gfx1201", tmp_path / "t", FOREVER, exclusive=True))
    urgent = ["--partition=urgent", "--constraint=gfx1201", "--exclusive", f"--output={tmp_path}/urgent", "--wrap=true"]
    subprocess.run(["sbatch", *urgent], check=True)
    (status,) = wait(slurm, handles).values()
    assert (status.state, status.node, status.reason) == (TaskState.PREEMPTED, "n3", "Slurm says PREEMPTED")


def test_a_machine_that_dies_takes_its_jobs_with_it(cluster: SlurmFixture, slurm: Slurm, tmp_path: Path) -> None:
    """Here it is declared down, so that the test need not wait for slurmctld to miss it."""
    task = at("gfx1201", tmp_path / "t", FOREVER)
    handles = begun(slurm, task)
    cluster.kill_node("n3")
    process = tasks.process_of(task.folder)
    assert process
    assert not process.is_alive
    cluster.control("update", "NodeName=n3", "State=DOWN", "Reason=power")
    (status,) = wait(slurm, handles).values()
    assert (status.state, status.node, status.exit_code) == (TaskState.NODE_FAILED, "n3", None)
    cluster.start_node("n3")
    until(lambda: cluster.states()["n3"] == "idle")


@pytest.mark.nightly
def test_slurm_misses_a_machine_by_itself(cluster: SlurmFixture, slurm: Slurm, tmp_path: Path) -> None:
    handles = begun(slurm, at("gfx1201", tmp_path / "t", FOREVER))
    cluster.kill_node("n3")
    (status,) = wait(slurm, handles).values()
    assert (status.state, status.node) == (TaskState.NODE_FAILED, "n3")
    cluster.start_node("n3")
    until(lambda: cluster.states()["n3"] == "idle")


@pytest.mark.nightly
def test_a_limit_of_slurm_that_comes_first_is_a_time_out(cluster: SlurmFixture, slurm: Slurm, tmp_path: Path) -> None:
    handles = begun(slurm, at("gfx942", tmp_path / "t", FOREVER, minutes=30))
    cluster.control("update", f"JobId={handles[0].split(':')[0]}", "TimeLimit=1")
    (status,) = wait(slurm, handles).values()
    assert status.state is TaskState.TIMED_OUT


def test_a_drained_machine_is_waited_for_and_then_no_capacity(cluster: SlurmFixture, tmp_path: Path) -> None:
    task = at("gfx1201", tmp_path / "t", "touch ran")
    patient, hasty = Slurm(tmp_path / "slurm"), Slurm(tmp_path / "slurm", absence_minutes=0)
    cluster.control("update", "NodeName=n3", "State=DRAIN", "Reason=fan")
    try:
        handles = list(patient.submit([task]))
        until(lambda: "ReqNodeNotAvail" in patient.poll(handles)[handles[0]].reason)
        assert patient.poll(handles)[handles[0]].state is TaskState.WAITING
        (status,) = wait(hasty, handles).values()
        assert status.state is TaskState.NO_CAPACITY
        assert status.reason.startswith("ReqNodeNotAvail")
    finally:
        cluster.control("update", "NodeName=n3", "State=RESUME")
    wait(hasty, list(hasty.submit([at("gfx1201", tmp_path / "next", "true")])))
    assert not (tmp_path / "ran").exists(), "it started when nobody waited for it any more"


@pytest.mark.nightly
def test_slurmctld_is_restarted_in_mid_night(
    cluster: SlurmFixture, slurm: Slurm, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    task = at("gfx942", tmp_path / "t", "touch began; while [ ! -e go ]; do sleep 0.1; done; exit 7")
    waiting = at("gfx942", tmp_path / "w", "true", exclusive=True, avoid=("n1", "n2"))
    handles = begun(slurm, task)
    # Slurm may have written down that the job runs before it was seen to run, and does not again until it changes.
    running = time.time()
    cluster.control("update", f"JobId={handles[0].partition(':')[0]}", "Comment=seen")
    until(lambda: cluster.saved > running)
    cluster.kill_controller()
    status = slurm.poll(handles)[handles[0]]
    assert status.state is TaskState.RUNNING
    assert status.reason.startswith("Slurm has not answered for ")
    with pytest.raises(UsageError, match=r"Slurm has not answered for 0 min .* go on with --resume"):
        Slurm(tmp_path / "slurm", patience_minutes=-1).submit([waiting])
    (tmp_path / "go").touch()
    until(lambda: tasks.ended(task.folder))
    assert slurm.poll(handles)[handles[0]].state is TaskState.RUNNING, "what is red waits for what Slurm knows of it"
    cluster.start_controller()
    assert wait(slurm, handles)[handles[0]].exit_code == 7
    assert wait(slurm, [*slurm.submit([waiting])]).popitem()[1].exit_code == 0
    lines = capfd.readouterr().err.splitlines()
    silences, ends = (sum(words in line for line in lines) for words in ("Slurm does not answer", "answers again"))
    # A busy machine may keep a controller that has just started silent: one silence more, which ends as well. That of
    # the impatient executor has no end.
    assert silences - 1 == ends >= 1


def test_another_controller_goes_on_and_nothing_is_queued_twice(slurm: Slurm, tmp_path: Path) -> None:
    """The first one died before it noted what sbatch had answered."""
    task = at("gfx942", tmp_path / "t", "echo once >> ran")
    handles = list(slurm.submit([task]))
    second = Slurm(tmp_path / "slurm")
    assert list(second.submit([task])) == handles
    assert wait(second, handles)[handles[0]].exit_code == 0
    assert (tmp_path / "ran").read_text() == "once\n"


def test_of_many_arrays_all_are_submitted_or_none(slurm: Slurm, tmp_path: Path) -> None:
    """The second task cannot be written down, so that the first would never be waited for."""
    blockers = [at("gfx942", tmp_path / f"b{number}", FOREVER, exclusive=True) for number in range(2)]
    blocking = [handle for task in blockers for handle in begun(slurm, task)]
    first = replace(at("gfx942", tmp_path / "t1", "touch ran"), target="gfx90a")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        slurm.submit([first, at("gfx942", tmp_path / "file" / "t2", "true")])
    listed = subprocess.run(["squeue", "--noheader", "--format=%j"], capture_output=True, text=True, check=True)
    assert "bitgate-gfx90a-" not in listed.stdout
    (handle,) = slurm.submit([first])
    slurm.cancel(blocking)
    assert wait(slurm, [handle])[handle].exit_code == 0, "what was withdrawn is not taken for submitted"
    assert (tmp_path / "ran").exists()


def test_a_number_that_slurm_gave_to_another_job_is_not_ours(slurm: Slurm, tmp_path: Path) -> None:
    """So it does after a crash in which it forgot the last jobs."""
    (other,) = begun(slurm, at("gfx942", tmp_path / "t", FOREVER))
    mine = str(replace(Handle.parse(other), name="bitgate-gfx942-0a", folder=tmp_path / "mine"))
    assert slurm.poll([mine])[mine].state is TaskState.LOST
    slurm.cancel([mine])
    assert slurm.poll([other])[other].state is TaskState.RUNNING
    slurm.cancel([other])


def test_a_job_that_nobody_knows_is_lost(slurm: Slurm, tmp_path: Path) -> None:
    (status,) = slurm.poll([f"987654_0:bitgate-gfx942-0a:{tmp_path}"]).values()
    assert (status.state, status.reason) == (TaskState.LOST, "Slurm does not know job 987654_0 any more")


def test_a_task_that_cannot_begin_says_where_to_look(
    slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    monkeypatch.setattr("bitgate.lab.executors.slurm.ARRIVAL_SECONDS", 0.5)
    (status,) = wait(slurm, list(slurm.submit([at("gfx942", tmp_path / "t", "true")]))).values()
    assert (status.state, status.exit_code) == (TaskState.ENDED, 127)
    log = Path(status.reason.removeprefix("its job did not begin its task: see "))
    assert "/no/such/python" in log.read_text()


def test_options_are_passed_on_and_a_bad_one_is_told(slurm: Slurm, cluster: SlurmFixture, tmp_path: Path) -> None:
    task = at("gfx942", tmp_path / "t", 'echo "$SLURM_JOB_PARTITION"')
    urgent = executor("slurm", tmp_path, options={"partition": "urgent"})
    wait(urgent, list(urgent.submit([task])))
    assert said(task) == ["urgent"]
    with pytest.raises(UsageError, match=r"sbatch, for gfx942: .*[Ii]nvalid partition"):
        executor("slurm", tmp_path, options={"partition": "nowhere"}).submit([at("gfx942", tmp_path / "u", "true")])


def test_at_most_so_many_run_at_once(tmp_path: Path, cluster: SlurmFixture) -> None:
    line = "touch {0}; ls *.now | wc -l; sleep 0.5; rm {0}"
    many = [at("gfx942", tmp_path / f"t{number}", line.format(f"{number}.now")) for number in range(3)]
    one = executor("slurm", tmp_path, jobs=1)
    wait(one, list(one.submit(many)))
    assert [said(task) for task in many] == [["1"]] * 3
