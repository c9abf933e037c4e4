"""A process that gave up reaching others reads none of the same user, not even one that gave up the same."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bitgate.worker import limits

LANDLOCK = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)
"""The version of Landlock; below 1 where the system has none."""

GIVEN_UP = "from bitgate.worker.outside import give_up_reaching; give_up_reaching(); "


@contextmanager
def waiting(code: str) -> Iterator[int]:
    """The number of a process that runs the code, and then waits."""
    command = [sys.executable, "-c", f"{code}print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def result_of(code: str) -> str:
    """What the code prints, or the name of its exception, in a process that gave up reaching others."""
    tried = f"{GIVEN_UP}import os, signal\ntry: print({code})\nexcept OSError as error: print(type(error).__name__)"
    return subprocess.run([sys.executable, "-c", tried], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(LANDLOCK < 2, reason="needs Landlock of Linux 5.19")
def test_the_memory_of_its_like_is_out_of_reach() -> None:
    with waiting(GIVEN_UP) as other:
        assert result_of(f"open('/proc/{other}/mem', 'rb')") == "PermissionError"
        assert result_of(f"os.readlink('/proc/{other}/fd/0')") == "PermissionError"


@pytest.mark.skipif(LANDLOCK < 6, reason="needs Landlock of Linux 6.12")
def test_it_sends_no_signals_but_to_its_own() -> None:
    with waiting("") as other:
        assert result_of(f"os.kill({other}, signal.SIGKILL)") == "PermissionError"
    assert result_of("os.kill(os.getpid(), 0)") == "None"


def test_files_still_move_between_folders(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    (tmp_path / "from" / "file").touch()
    assert result_of(f"os.rename('{tmp_path}/from/file', '{tmp_path}/to/file')") == "None"
    assert (tmp_path / "to" / "file").exists()


def test_limits_that_another_process_lowered_are_restored() -> None:
    code = (
        "import resource, sys; from bitgate.worker import limits; limits.keep(); print(flush=True); input();"
        "limits.restore(); print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        hard = limits.limits_of(process.pid)[resource.RLIMIT_NOFILE][1]
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (4, hard))
        printed, _ = process.communicate("\n", timeout=60)
    assert int(printed) == soft


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which has something to give up")
def test_fewer_rights_are_a_change_of_the_process() -> None:
    code = (
        "from bitgate.numerics import native; from bitgate.verify.watch import snapshot;"
        "from bitgate.worker import state; from bitgate.worker.outside import give_up_reaching;"
        "before = state.ProcessState.of(snapshot()); give_up_reaching();"
        "print(state.changes(before, state.ProcessState.of(snapshot()), lambda: None, ()))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "credentials: users, groups or capabilities changed" in printed


def test_a_signal_of_the_outside_arrives() -> None:
    with waiting(GIVEN_UP) as process:
        os.kill(process, signal.SIGTERM)
        ended = os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        assert ended.si_status == signal.SIGTERM
