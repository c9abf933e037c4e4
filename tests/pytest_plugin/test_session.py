"""``bitgate run`` decides its exit code by plan and record, whatever a suite's own Python does to pytest."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

import bitgate

RUN = (sys.executable, "-c", "from bitgate.cli.main import main; main()", "run", "suites", "--target=host", "-n0")
EXIT_AFTER_TWO = """
import os

over = []

def pytest_runtest_teardown(item):
    over.append(item)
    if len(over) == 2:
        os._exit({})
"""
SLEEP = 'check):\n    "g2" in planned.case and time.sleep(1000)'


def bitgate_run(suites: Any, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = suites.environment | environment
    return subprocess.run([*RUN, *more], cwd=suites.folder, env=own, capture_output=True, text=True, check=False)


def conftest(suites: Any, text: str) -> None:
    (suites.folder / "suites" / "toy" / "conftest.py").write_text(text)


@pytest.mark.parametrize("status", [0, 1, 3, 9])
def test_a_conftest_that_exits_ends_no_run_green(suites: Any, status: int) -> None:
    conftest(suites.write(), EXIT_AFTER_TWO.format(status))
    ended = bitgate_run(suites)
    assert ended.returncode == 1, ended.stderr
    assert "before its run had ended" in ended.stderr
    assert len(suites.verdicts) == 2
    assert suites.junit.tests == 4
    assert "RED: 2 of 4 verdicts" in ended.stderr


@pytest.mark.parametrize(
    ("text", "says"), [("raise Silent", "Silent: (a Silent without text)"), ("raise SystemExit(1)", "SystemExit: 1")]
)
def test_a_conftest_that_raises_no_exception_is_one_line(suites: Any, text: str, says: str) -> None:
    """1 would say that a defect was found."""
    silent = "class Silent(BaseException):\n    def __str__(self):\n        raise self\n    __repr__ = __str__\n"
    suites.write()
    (suites.folder / "suites" / "conftest.py").write_text(f"{silent}\n{text}\n")
    ended = bitgate_run(suites)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].endswith(f"conftest.py:6: {says}")
    assert "Traceback" not in ended.stderr


def test_a_run_that_only_collects_compares_nothing(suites: Any) -> None:
    assert bitgate_run(suites.write()).returncode == 0
    ended = bitgate_run(suites, PYTEST_ADDOPTS="--co")  # the green record of before does not count
    assert ended.returncode == 3, ended.stderr
    assert "nothing was compared" in ended.stderr


def test_options_that_no_shell_takes_are_one_line(suites: Any) -> None:
    ended = bitgate_run(suites.write(), PYTEST_ADDOPTS="-k 'toy")
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert line.startswith("bitgate: PYTEST_ADDOPTS=-k 'toy: No closing quotation")


def test_a_conftest_that_kills_pytest_leaves_reports(suites: Any) -> None:
    conftest(suites.write(), EXIT_AFTER_TWO.format("0 if os.kill(os.getpid(), 9) else 0"))
    ended = bitgate_run(suites)
    assert ended.returncode == 1, ended.stderr
    assert "pytest was killed by SIGKILL" in ended.stderr
    assert suites.junit.errors == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_command_ends_the_run(suites: Any, monkeypatch: Any, number: signal.Signals) -> None:
    suites.write(module=("check):", SLEEP))
    monkeypatch.setattr(suites, "command", lambda *more: list(RUN), raising=False)
    code, output = suites.interrupt(number, lambda: suites.is_at("_g2"))
    assert code == 130, output
    assert "interrupted" in output
    assert suites.junit.tests


@pytest.mark.parametrize("tenths", range(0, 12, 2))
def test_a_signal_while_it_starts_is_no_traceback(suites: Any, tenths: int) -> None:
    suites.write()
    environment = suites.environment | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        RUN, cwd=suites.folder, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    while not psutil.Process(process.pid).children() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(tenths / 10)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode in (130, 0)  # 0: it had ended
    assert "Traceback" not in said


def test_a_file_named_like_a_module_is_nothing_to_a_run(suites: Any) -> None:
    (suites.write().folder / "json.py").write_text("raise ImportError('of the current folder')")
    command = [*RUN]
    command[2] = f"import sys; del sys.path[0]; {command[2]}"  # as the console script begins
    environment = suites.environment | {"PYTHONPATH": str(Path(bitgate.__file__).parents[1])}
    ended = subprocess.run(command, cwd=suites.folder, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_pytest_does_not_outlive_its_parent(suites: Any) -> None:
    suites.write(module=("check):", SLEEP))
    with subprocess.Popen(RUN, cwd=suites.folder, env=suites.environment, stdout=subprocess.DEVNULL) as process:
        while not suites.is_at("_g2") and process.poll() is None:
            pass
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        death = os.pidfd_open(int(child))
        process.kill()
    assert select.select([death], [], [], 120)[0]
