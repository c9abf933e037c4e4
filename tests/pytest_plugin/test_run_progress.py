"""``bitgate run`` shows one bar with an estimate on a terminal, and plain lines where its output is piped."""

from __future__ import annotations

import os
import pty
import subprocess
from typing import Any

import pytest

from .test_session import RUN, bitgate_run

RED = "check):\n    assert 'g2' not in planned.case\n    if True"
"""A test that fails before it asks for a verdict."""


def on_a_terminal(suites: Any, *more: str) -> tuple[int, str]:
    """Run with stdout and stderr on a terminal; return the exit code and everything that it got."""
    ours, theirs = pty.openpty()
    own = suites.environment | {"TERM": "xterm", "COLUMNS": "120"}
    child = subprocess.Popen([*RUN, *more], cwd=suites.folder, env=own, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while read := os.read(ours, 65536):
            shown += read
    except OSError:  # the child has closed its end
        pass
    os.close(ours)
    return child.wait(timeout=60), shown.decode(errors="replace")


@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_terminal_gets_a_bar_and_no_dots(suites: Any, processes: str) -> None:
    code, shown = on_a_terminal(suites.write(), processes)
    assert code == 0, shown
    assert "4 of 4 tests" in shown
    assert "0:0" in shown, "no time is estimated"
    assert "...." not in shown
    assert "4 passed" in shown.splitlines()[-1] or "GREEN" in shown


def test_the_bar_counts_what_is_red(suites: Any) -> None:
    code, shown = on_a_terminal(suites.write(module=("check):\n    check(planned)", f"{RED}: check(planned)")))
    assert code == 1, shown
    assert "4 of 4 tests, 1 red" in shown
    assert "assert 'g2' not in" in shown, "the failure itself is printed below"


def test_a_pipe_gets_no_control_characters(suites: Any) -> None:
    ended = bitgate_run(suites.write(), TERM="xterm")
    assert ended.returncode == 0, ended.stderr
    assert "...." in ended.stdout
    assert "\x1b" not in ended.stdout + ended.stderr
