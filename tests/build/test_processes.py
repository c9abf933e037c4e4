"""Processes of a build are bounded: a source may ask its compiler for anything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bitgate.kernel.build import processes
from bitgate.kernel.build.processes import Processes
from bitgate.worker import sandbox


def test_a_compiler_without_end_has_not_all_of_the_memory() -> None:
    ended = Processes().run([sys.executable, "-c", "bytearray(20 << 30)"], {})
    assert ended is not None
    assert (ended.code, "MemoryError" in ended.output) == (1, True)


def test_a_compiler_of_unknown_authors_has_less_memory_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sandbox.VARIABLE, "{}")
    fails = "bytearray(1 << 30)\ntry: bytearray(5 << 30)\nexcept MemoryError: exit('cc1plus: out of memory')"
    ended = Processes().run([sys.executable, "-c", fails], {})
    assert ended is not None
    assert ended.output == f"cc1plus: out of memory\n\nfatal error: {sys.executable} has at most 4 GiB of memory\n"


DRIVER = """
import sys
from bitgate.kernel.build.processes import Processes
Processes().run(["sh", "-c", f"exec 3> {sys.argv[1]}; echo begins >&3; (sleep 5; echo outlives >&3) & wait"], {})
"""


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_compiler_does_not_outlive_the_process_that_started_it(end: signal.Signals, tmp_path: Path) -> None:
    """Nor does what its driver has started: that reads the source."""
    os.mkfifo(tmp_path / "pipe")
    build = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path / "pipe")])
    with open(tmp_path / "pipe") as said:
        assert said.readline() == "begins\n"
        build.send_signal(end)
        assert build.wait() == -end
        assert said.read() == ""  # the other end is closed


@pytest.mark.parametrize("limit", ["MOST_SECONDS", "FOREIGN_SECONDS"])
def test_a_compiler_that_waits_is_ended(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judged source may include a pipe that has no other end."""
    monkeypatch.setattr(processes, limit, 0.1)
    if limit == "FOREIGN_SECONDS":
        monkeypatch.setenv(sandbox.VARIABLE, "{}")
    ended = Processes().run([sys.executable, "-c", "import signal; signal.pause()"], {})
    assert ended is not None
    assert ended.code == 1  # a signal would read as a lack of memory
    assert ended.output.endswith(f"fatal error: {sys.executable} did not end within 0.1 s\n")
