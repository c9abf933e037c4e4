"""Nights on a real Slurm of this machine, in which jobs, nodes and controllers are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
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


@pytest.mark.nightly
def test_a_large_night_outlives_a_node_a_job_and_its_controller(tmp_path: Path) -> None:
    """2,094 cases of the smoke tier on three targets and six nodes; the program reports what did not come true."""
    command = [sys.executable, "benchmarks/slurm_night.py", f"--out={tmp_path}"]
    done = subprocess.run(command, cwd=paths.root(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
