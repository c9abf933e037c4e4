"""The steps of a check: those that run side by side are each printed whole, and a red one makes the check red."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bitgate.core import paths

RUNS = """
import sys
from pathlib import Path
import steps
from steps import Step
steps.OUT = Path(sys.argv[1])

def say(*lines, code=0):
    return [sys.executable, "-c", f"import sys; [print(one, flush=True) for one in {lines!r}]; sys.exit({code})"]

both = Step("one", 60, say("a", "b")), Step("two", 60, say("c", "d", code=3))
sys.exit(steps.run(steps.chosen([Step("first", 60, say("x")), both], sys.argv[2:])))
"""


@pytest.mark.parametrize(
    ("names", "code", "end"),
    [
        ((), 1, "2 passed, 1 failed"),
        (("one",), 0, "2 passed, 0 failed"),
        (("three",), 1, "unknown steps: three; there are one, two"),
    ],
)
def test_steps_side_by_side_are_printed_whole(tmp_path: Path, names: tuple[str, ...], code: int, end: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(paths.root() / ".ci")}
    command = [sys.executable, "-c", RUNS, str(tmp_path / "out"), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert (done.stdout + done.stderr).rstrip().endswith(end)
    if not names:
        assert "\n=== one (budget 60 s)\na\nb\n" in done.stdout
        assert "\n=== two (budget 60 s)\nc\nd\n" in done.stdout
        (row,) = (line for line in done.stdout.splitlines() if line.startswith("two  "))
        assert row.endswith(" ended with 3")
