"""Memory that runs out in a control group of this machine: of a child, of a job, of a case that asks for too much."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.ci.tasks import python, task_of

from bitgate.core import memory_group, paths
from bitgate.lab.ci import task as tasks
from bitgate.lab.executors.executor import TaskState

EAT = "x = bytearray(1 << 32)"
CHILD = """
from bitgate.worker.worker import Worker, WorkerDied
one = Worker("tests.worker.behaviours:serve", lambda output: None)
for behaviour in ("eat", "kill"):
    try:
        one.ask({"behaviour": behaviour}, 60)
    except WorkerDied as died:
        print(died.out_of_memory, died.reason)
"""
Inside = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def inside() -> Iterator[Inside]:
    """Runs a command in a control group that may take 1 GiB."""
    is_first = (memory_group.ROOT / "memory").is_dir()
    folder = memory_group.ROOT / ("memory" if is_first else "") / f"bitgate-test-{os.getpid()}"
    try:
        folder.mkdir()
        limit = folder / ("memory.limit_in_bytes" if is_first else "memory.max")
        limit.write_text(str(1 << 30))
    except OSError as error:
        with suppress(OSError):
            folder.rmdir()
        pytest.skip(f"no control group can be made here: {error.strerror}")

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        line = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
        root = Path(paths.__file__).parents[3]
        path = os.pathsep.join([str(root), str(root / "harness"), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            ["sh", "-c", line, str(folder), *command],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    yield run
    with suppress(OSError):
        folder.rmdir()


def test_a_group_knows_its_limit_and_its_kills(inside: Inside) -> None:
    code = "from bitgate.core.memory_group import kills, limit; print(limit() >> 20, kills())"
    assert inside(sys.executable, "-c", code).stdout == "1024 0\n"
    assert inside(sys.executable, "-c", EAT).returncode == -9
    assert inside(sys.executable, "-c", code).stdout == "1024 1\n"


def test_a_child_that_ran_out_of_memory_is_told_from_a_killed_one(inside: Inside) -> None:
    done = inside(sys.executable, "-c", CHILD)
    assert done.stdout.splitlines() == [
        "True out of memory: its process died of SIGKILL, sent by the kernel, which had no memory left for it",
        "False its process died of SIGKILL",
    ], done.stderr


def test_a_job_that_ran_out_of_memory_says_so(inside: Inside, tmp_path: Path) -> None:
    task = task_of(tmp_path / "task", python(EAT))
    assert inside(*tasks.wrapper(tasks.store(task))).returncode == 137
    found = tasks.ended(task.folder)
    assert found
    assert (found.state, found.reason) == (TaskState.OUT_OF_MEMORY, "the kernel killed it for lack of memory")


def test_a_case_larger_than_its_job_is_no_crash(inside: Inside) -> None:
    case = "fwd_f32_nhwgc_g1n1k4c256_y1x1_h1024x1024"
    done = inside(sys.executable, "-m", "bitgate", "verify", case, "--kernel", "naive_conv.*", "--json")
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert (verdict["verdict"], verdict["green"]) == ("INFRA", False)
    assert verdict["reason"].startswith("out of memory: the case needs about 2.1 GiB of host memory"), verdict["reason"]
