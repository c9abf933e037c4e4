"""What Slurm's words mean for a task, without a Slurm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ci.tasks import task_of

from bitgate.core.errors import UsageError
from bitgate.lab.executors import executor
from bitgate.lab.executors.executor import TaskState
from bitgate.lab.executors.slurm import Handle, Slurm, script
from bitgate.lab.executors.slurm_states import (
    JobEnd,
    Wait,
    end_of,
    end_of_account,
    is_silence,
    names_no_machine,
    state_of,
    wait_of,
)


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("PENDING", TaskState.WAITING),
        ("COMPLETING", TaskState.RUNNING),
        ("COMPLETED", TaskState.ENDED),
        ("FAILED", TaskState.ENDED),
        ("NODE_FAIL", TaskState.NODE_FAILED),
        ("BOOT_FAIL", TaskState.NODE_FAILED),
        ("PREEMPTED", TaskState.PREEMPTED),
        ("TIMEOUT", TaskState.TIMED_OUT),
        ("OUT_OF_MEMORY", TaskState.OUT_OF_MEMORY),
        ("CANCELLED", TaskState.CANCELLED),
        ("CANCELLED by 1000", TaskState.CANCELLED),
        ("CANCELLED+", TaskState.CANCELLED),
        ("A_WORD_OF_LATER", TaskState.RUNNING),
    ],
)
def test_a_state(word: str, state: TaskState) -> None:
    assert state_of(word) is state


@pytest.mark.parametrize(
    ("reason", "wait"),
    [
        ("None", Wait.TURN),
        ("", Wait.TURN),
        ("(null)", Wait.TURN),
        ("AssocGrpGRES", Wait.TURN),
        ("PartitionConfig", Wait.PEOPLE),
        ("AReasonOfLater", Wait.PEOPLE),
        ("Priority", Wait.TURN),
        ("Resources", Wait.TURN),
        ("QOSGrpGRES", Wait.TURN),
        ("AssocMaxJobsLimit", Wait.TURN),
        ("ReqNodeNotAvail, UnavailableNodes:n[2-3]", Wait.PEOPLE),
        ("Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", Wait.PEOPLE),
        ("PartitionDown", Wait.PEOPLE),
        ("JobHeldAdmin", Wait.PEOPLE),
        ("launch failed requeued held", Wait.PEOPLE),
        ("BadConstraints", Wait.EVER),
        ("PartitionTimeLimit", Wait.EVER),
        ("QOSMaxGRESPerJob", Wait.EVER),
        ("AssocMaxWallDurationPerJobLimit", Wait.EVER),
    ],
)
def test_why_a_job_waits(reason: str, wait: Wait) -> None:
    assert wait_of(reason) is wait


@pytest.mark.parametrize(
    ("complaint", "no_machine", "silence"),
    [
        ("sbatch: error: Batch job submission failed: Invalid feature specification", True, False),
        ("sbatch: error: Batch job submission failed: Requested node configuration is not available", True, False),
        ("sbatch: error: invalid partition specified: nope", False, False),
        ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", False, True),
        ("slurm_load_jobs error: Socket timed out on send/recv operation", False, True),
        ("slurm_load_jobs error: Invalid job id specified", False, False),
    ],
)
def test_what_a_command_complains_of(complaint: str, no_machine: bool, silence: bool) -> None:
    assert (names_no_machine(complaint), is_silence(complaint)) == (no_machine, silence)


@pytest.mark.parametrize(
    ("run", "limit", "warned"),
    [("00:04:05", "00:05:00", True), ("00:01:00", "00:05:00", False), ("1-00:00:00", "UNLIMITED", False)],
)
def test_an_end_as_scontrol_describes_it(run: str, limit: str, warned: bool) -> None:
    described = (
        "JobId=9 ArrayJobId=1 ArrayTaskId=1 JobName=bitgate UserId=root(0) JobState=FAILED Reason=NonZeroExitCode"
        f" Requeue=0 Restarts=0 ExitCode=3:0 RunTime={run} TimeLimit={limit} NodeList=n2 BatchHost=n2"
    )
    assert end_of(described) == JobEnd(TaskState.ENDED, "FAILED", 3, 0, "n2", warned)


def test_an_end_as_sacct_lists_it() -> None:
    assert end_of_account("NODE_FAIL|1:0|n7") == JobEnd(TaskState.NODE_FAILED, "NODE_FAIL", 1, 0, "n7")
    assert end_of_account("CANCELLED by 0|0:15|None assigned") == JobEnd(TaskState.CANCELLED, "CANCELLED by 0", 0, 15)


@given(st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_a_handle_reads_back(reason: str) -> None:
    assert Handle.parse(str(Handle("", reason=reason))).reason == reason
    assert Handle.parse("12_3:bitgate-gfx942-0a:/a:b") == Handle("12_3", "bitgate-gfx942-0a", Path("/a:b"))


def test_each_element_of_an_array_becomes_its_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the folder is called."""
    monkeypatch.setattr(sys, "executable", "/bin/echo")
    many = [task_of(tmp_path / name, "true") for name in ("plain", "two words", "it's $HOME; `id`")]
    text = script(many)
    for index, task in enumerate(many):
        environment = {"SLURM_ARRAY_TASK_ID": str(index)}
        printed = subprocess.run(["/bin/sh"], input=text, env=environment, capture_output=True, text=True, check=True)
        assert printed.stdout == f"-m bitgate.lab.ci.task {task.folder}/task.json\n"


def test_without_slurm_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"scontrol is not on this machine: .*slurm-client"):
        Slurm(tmp_path).submit([task_of(tmp_path / "t", "true")])


@pytest.mark.needs("slurm")
def test_a_slurm_that_is_not_configured_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slurm.conf").touch()
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    with pytest.raises(UsageError, match=r"scontrol: .*configuration file"):
        Slurm(tmp_path).submit([task_of(tmp_path / "t", "true")])


def test_an_option_is_one_of_sbatch_or_our_own(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--option particion: slurm: did you mean 'partition'"):
        executor("slurm", tmp_path, options={"particion": "gpu"})
    with pytest.raises(UsageError, match="--option patience=long: give minutes, as in patience=30"):
        executor("slurm", tmp_path, options={"patience": "long"})
