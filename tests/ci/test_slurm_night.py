"""Nights on a real Slurm of this machine, in which jobs, nodes and controllers are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.ci.slurm_fixture import slurm_fixture
from tests.ci.tasks import until

from bitgate.core import paths
from bitgate.lab.ci import task as tasks
from bitgate.lab.executors.executor import TaskState

pytestmark = pytest.mark.needs("slurm")

TARGETS = ("host_for_gfx942", "host_for_gfx1201")


def test_a_small_night_outlives_a_job_and_its_controller(lab: Callable[..., Any], tmp_path: Path) -> None:
    """Two targets with a node each; both are held at their second case."""
    mine = lab(4)
    (mine.folder / "hold").touch()
    (tmp_path / "slurm").mkdir()
    with slurm_fixture(tmp_path / "slurm", {"n1": "gfx942", "n2": "gfx1201"}):
        asked = [f"--target={target}" for target in TARGETS]
        controller = mine.start("submit", "--executor=slurm", "-n0", *asked)
        until(lambda: all(mine.results(target) for target in TARGETS) or controller.poll() is not None)
        assert controller.poll() is None, controller.communicate()
        killed = tasks.process_of(mine.attempt(TARGETS[0]))
        assert killed
        os.kill(killed.pid, signal.SIGKILL)
        controller.send_signal(signal.SIGKILL)
        controller.communicate()
        mine.release()
        done = mine.submit("--resume")
    assert (done["code"], done["compared"]) == (0, 8), done["said"]
    ends = {target: [a.status for a in one.attempts] for (target, _), one in mine.state.shards.items()}
    assert [(s.state, s.node) for s in ends[TARGETS[0]]] == [(TaskState.LOST, "n1"), (TaskState.ENDED, "n1")]
    assert [(s.state, s.node) for s in ends[TARGETS[1]]] == [(TaskState.ENDED, "n2")]
    again = [*mine.results(TARGETS[0]), *mine.results(TARGETS[0], number=2)]
    assert set(Counter(one.key for one in again).values()) == {1}, "what was answered is not asked again"
    assert f"{TARGETS[0]} ran again (attempt 2) on n1: " in mine.summary
    assert "its job died of SIGKILL on n1" in mine.summary
    assert f"{TARGETS[1]} ran again" not in mine.summary


def test_in_a_bad_night_only_the_culprit_has_no_answer(lab: Callable[..., Any], tmp_path: Path) -> None:
    """One case kills its job, one node is preempted three times, one shard runs out of memory."""
    fatal, preempted, hungry = targets = ("host_for_gfx942", "host_for_gfx90a", "host_for_gfx1201")
    mine = lab(6)
    (mine.folder / "fatal").write_text(f"{fatal} k3c3")
    (mine.folder / "hold").write_text(preempted)
    (mine.folder / "hungry").write_text(f"{hungry} k4c3")
    (tmp_path / "slurm").mkdir()
    with slurm_fixture(tmp_path / "slurm", {"n1": "gfx942", "n2": "gfx90a", "n3": "gfx1201"}):
        controller = mine.start("submit", "--executor=slurm", "-n0", *(f"--target={target}" for target in targets))
        for number in (1, 2, 3):
            until(partial(mine.results, preempted, number=number))
            assert controller.poll() is None, controller.communicate()
            urgent = ["--partition=urgent", "--constraint=gfx90a", "--exclusive", "--wait", "--wrap=true"]
            subprocess.run(["sbatch", f"--output={tmp_path}/urgent", *urgent], check=True)
        mine.release()
        said = "".join(controller.communicate())
    print(said, mine.summary)  # what a reader sees of such a night
    assert controller.returncode == 1, said
    (red,) = [one for one in map(json.loads, _lines(mine.night)) if not one["green"]]
    assert (red["target"], red["verdict"]) == (fatal, "CRASHED")
    assert red["reason"].startswith("it ended its run twice, the second time when nothing else ran: ")
    assert "k3c3" in red["case"]
    assert "RED: 1 of 18 verdicts" in mine.summary
    ends = {t: [a.status.state for a in one.attempts] for (t, _), one in mine.state.shards.items()}
    assert ends[preempted] == [TaskState.PREEMPTED] * 3 + [TaskState.ENDED]
    assert ends[hungry] == [TaskState.OUT_OF_MEMORY, TaskState.ENDED, TaskState.ENDED]
    again = f"{hungry} ran again (attempt 2) on n3: 3 cases without an answer:"
    reasons = ("the kernel killed it for lack of memory on n3", "Slurm says OUT_OF_MEMORY on n3")
    assert any(f"{again} {reason}" in mine.summary for reason in reasons)  # whichever was noticed first


def _lines(night: Path) -> Iterator[str]:
    """Yield every line on record."""
    for path in (night / "shards").rglob("results.jsonl"):
        yield from path.read_text().splitlines()


@pytest.mark.nightly
def test_a_large_night_outlives_a_node_a_job_and_its_controller(tmp_path: Path) -> None:
    """2,094 cases of the smoke tier on three targets and six nodes; the program reports what did not come true."""
    command = [sys.executable, "benchmarks/slurm_night.py", f"--out={tmp_path}"]
    done = subprocess.run(command, cwd=paths.root(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
