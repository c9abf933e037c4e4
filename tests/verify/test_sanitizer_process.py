"""Launchers start under NVIDIA's compute-sanitizer where a run asks for it: what stands in for it here watches nothing.

The stand-in shows how processes begin, end and leave a log; kernels run on the host. What the real one finds only an
NVIDIA GPU shows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.core import compute_sanitizer, emulation
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.verify.launcher_process import LauncherProcess
from bitgate.verify.launcher_worker import launcher_worker
from bitgate.worker.shared_memory import create_memory

STAND_IN = """\
#!/bin/bash
# Stands in for compute-sanitizer: reads its options, begins its log, and stays the parent of its command.
while [[ $1 == --* ]]; do
  [[ $1 == --log-file ]] && log=$2
  shift 2
done
echo "========= COMPUTE-SANITIZER" > "$log"
"$@"
code=$?
echo "========= ERROR SUMMARY: 0 errors" >> "$log"
exit $code
"""
FINDING = """\
========= Invalid __global__ write of size 4 bytes
=========     at scale(float *)+0x90
=========     by thread (0,0,0) in block (0,0,0)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / compute_sanitizer.PROGRAM
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv(compute_sanitizer.TOOL, "memcheck")
    monkeypatch.setenv(compute_sanitizer.FOLDER, str(tmp_path))


@pytest.fixture
def launcher(stand_in: None) -> Iterator[LauncherProcess]:
    process = LauncherProcess("host", ours().as_json(), {}, lambda *note: None)
    process.begin_case(60)
    yield process
    process.end()


def log_of(launcher: LauncherProcess) -> Path:
    return Path(launcher._worker.environment[compute_sanitizer.LOG])


def children_of(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def runs(pid: int) -> bool:
    """Return whether a process still runs after a moment; a zombie does not."""
    end = time.monotonic() + 5
    with suppress(OSError):
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            if time.monotonic() > end:
                return True
            time.sleep(0.01)
    return False


def test_a_launcher_starts_under_it_and_ends_with_it(launcher: LauncherProcess) -> None:
    assert launcher.device_facts().runtime.startswith("HIP ")
    assert log_of(launcher).read_text() == "========= COMPUTE-SANITIZER\n"
    assert launcher._worker._child is not None
    outer = launcher._worker._child._process.pid
    words = Path(f"/proc/{outer}/cmdline").read_bytes().split(b"\0")
    assert b"memcheck" in words
    (inner,) = children_of(outer)
    launcher.end()
    assert not runs(outer)
    assert not runs(inner)


def test_a_process_that_died_is_explained_by_what_was_found(launcher: LauncherProcess) -> None:
    launcher.device_facts()
    with log_of(launcher).open("a") as file:
        file.write(FINDING)
    assert launcher._printed.taken() == (
        "Invalid __global__ write of size 4 bytes, at scale(float *)+0x90, by thread (0,0,0) in block (0,0,0)"
    )
    launcher.replace()
    assert launcher.memory().free > 0
    assert "Invalid" not in log_of(launcher).read_text(), "the next process begins its log anew"


def test_trusted_kernels_run_without_it_and_limits_are_longer(stand_in: None) -> None:
    arenas = create_memory(), create_memory()
    trusted = launcher_worker(arenas, lambda *note: None, is_trusted=True)
    assert compute_sanitizer.LOG not in trusted.environment
    assert emulation.slowness() == compute_sanitizer.SLOWNESS
    for descriptor in arenas:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["verify", "softmax_f32_r4c16", "--sanitizer", "memchek"], "memchek: give one of memcheck, racecheck, init"),
        (
            ["verify", "softmax_f32_r4c16", "--sanitizer", "memcheck", "--target", "host"],
            "host is none: on the host",
        ),
        (["run", "--sanitizer", "racechec"], "--sanitizer racechec: give one of memcheck, racecheck"),
    ],
)
def test_what_it_cannot_watch_is_refused(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(compute_sanitizer.TOOL, "")
    assert run(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("bitgate: ")
    assert says in said
    assert said.count("\n") == 1


def test_a_missing_tool_and_other_platforms_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compute_sanitizer.TOOL, "initcheck")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    with pytest.raises(UsageError, match=r"compute-sanitizer was not found .looked in PATH and /nowhere/bin.: install"):
        compute_sanitizer.check("sm_90", "nvidia")
    with pytest.raises(UsageError, match="it watches NVIDIA's GPUs, and gfx942 is none: leave it out"):
        compute_sanitizer.check("gfx942", "amd")
    with pytest.raises(UsageError, match="leave --in-process out"):
        compute_sanitizer.check("sm_90", "nvidia", in_process=True)
    with pytest.raises(UsageError, match="leave --resume out"):
        compute_sanitizer.check("sm_90", "nvidia", resumes=True)
    monkeypatch.setenv(compute_sanitizer.TOOL, "")
    compute_sanitizer.check("host", "host")
