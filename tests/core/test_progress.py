"""Progress is for terminals: a bar with an estimate there, and nothing where output is piped."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from bitgate.core import progress
from bitgate.core.progress import TimeLeft, progress_bar

WORK = """
import sys
from bitgate.core.progress import print_progress, progress_bar
with progress_bar("merge [red]", 4) as bar:
    for done in range(5):
        bar.reach(done, "[bold]note \\x1b[2J")
        print("result", done)
        print_progress("line [blue]")
"""


def test_a_pipe_gets_lines_and_no_bar() -> None:
    done = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"result {number}" for number in range(5)]
    assert done.stderr.splitlines() == ["line [blue]"] * 5


def _on_a_terminal(environment: dict[str, str]) -> tuple[str, str]:
    """Run the work with stderr on a terminal and stdout in a pipe; return what each got."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", WORK], stdout=subprocess.PIPE, stderr=theirs, text=True, env=os.environ | environment
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:
            break
        if not read:
            break
        shown += read
    os.close(ours)
    assert child.stdout
    stdout = child.stdout.read()
    assert child.wait(timeout=60) == 0
    return stdout, shown.decode()


def test_a_terminal_gets_a_bar_and_a_pipe_its_results() -> None:
    stdout, shown = _on_a_terminal({"TERM": "xterm", "COLUMNS": "120"})
    assert stdout.splitlines() == [f"result {number}" for number in range(5)]
    assert "merge [red]" in shown
    assert "[bold]note" in shown
    assert "100 %" in shown
    assert shown.count("line [blue]") == 5
    assert "\x1b[2J" not in shown


def test_a_dumb_terminal_gets_no_bar() -> None:
    _, shown = _on_a_terminal({"TERM": "dumb"})
    assert shown.splitlines() == ["line [blue]"] * 5


def test_outside_of_a_terminal_a_bar_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("x", 0) as bar:
        bar.reach(5)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("elapsed", "done", "words"),
    [(1, 1, ""), (10, 0, ""), (10, 1, ", 30 s left"), (10, 4, ""), (10, 9, ""), (600, 1, ", 30 min left")],
)
def test_an_estimate_follows_the_steps(
    monkeypatch: pytest.MonkeyPatch, elapsed: float, done: float, words: str
) -> None:
    clock = iter([100.0, 100.0 + elapsed])
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    assert TimeLeft(4).words(done) == words
