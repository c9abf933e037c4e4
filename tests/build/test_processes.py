"""Processes of a build are bounded: a source may ask its compiler for anything."""

from __future__ import annotations

import sys

import pytest

from bitgate.kernel.build import processes
from bitgate.kernel.build.processes import Processes
from bitgate.worker import sandbox


def test_a_compiler_without_end_has_not_all_of_the_memory() -> None:
    ended = Processes().run([sys.executable, "-c", "bytearray(20 << 30)"], {})
    assert ended is not None
    assert (ended.code, "MemoryError" in ended.output) == (1, True)


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
