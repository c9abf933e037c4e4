"""Suites of a user, in a separate folder, run as users do: ``pytest <folder>`` in a separate process.

They use the real host runtime and the naive kernels, on problems of a few microseconds.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from junitparser import JUnitXml

from bitgate.core import paths
from bitgate.results.plan import Plan
from bitgate.results.record import Verdict, read

TABLE = """
[defaults]
pass = "bwd_data"
dtypes = ["f32", "f64"]
layouts = "nhwgc"
kernels = "naive_conv*"
why = "a toy"

[[case]]
name = "first"
shape = "n1k2c3_y3x3_h5x6_s2x2_p1x1"
tier = "smoke"

[[case]]
name = "second"
shape = ["n1k2c3_y1x1_h4x4", "g2n2k1c2_y2x3_h6x5_p1x0"]
tier = { host = "smoke", gpu = "regression" }
smoke = { dtypes = "f32" }
"""
MODULE = """
import os, signal, time
from bitgate.testing import cases

@cases("toy")
def test_toy(planned, check):
    check(planned)
"""


@dataclass
class Suites:
    """``folder/suites/toy`` with a table and a module; results go to ``folder/out``."""

    folder: Path

    def write(self, table: tuple[str, str] = ("", ""), module: tuple[str, str] = ("", ""), more: str = "") -> Suites:
        """The toy suite, with one text replaced by another in its table or module, and ``more`` below the module."""
        suite = self.folder / "suites" / "toy"
        suite.mkdir(parents=True, exist_ok=True)
        (suite / "cases.toml").write_text(TABLE.replace(*table))
        (suite / "test_toy.py").write_text(MODULE.replace(*module) + more)
        return self

    def command(self, *arguments: str, folder: str = "suites") -> list[str]:
        plugin = ["-p", "bitgate.pytest_plugin", "-p", "no:cacheprovider", "--target=host"]
        return [sys.executable, "-m", "pytest", folder, *plugin, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "BITGATE_T"))}
        path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        # Builds come from the cache that all tests share; durations and results are this suite's own.
        return inherited | {"PYTHONPATH": path, "BITGATE_OUT": str(self.folder / "out")}

    def run(self, *arguments: str, folder: str = "suites") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments, folder=folder),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def interrupt(self, number: signal.Signals, when: Callable[[], bool], *arguments: str) -> tuple[int, str]:
        """Send the signal, to the first process only, once ``when`` holds; (exit code, output)."""
        process = subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        deadline = time.monotonic() + 200
        while not when() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def is_at(self, part: str) -> bool:
        """Is some worker at a test whose id holds this part?"""
        for box in self.out.glob("blackbox-*"):
            with suppress(FileNotFoundError):  # its case has just ended
                if part in box.read_text():
                    return True
        return False

    @property
    def out(self) -> Path:
        return self.folder / "out" / "host"

    @property
    def verdicts(self) -> list[Verdict]:
        path = self.out / "results.jsonl"
        return list(read(path)) if path.exists() else []

    @property
    def outcomes(self) -> list[str]:
        return sorted(verdict.outcome.value for verdict in self.verdicts)

    @property
    def plan(self) -> Plan:
        return Plan.read(self.out / "plan.json")

    @property
    def junit(self) -> JUnitXml:
        return JUnitXml.fromfile(str(self.out / "junit.xml"))


def forget_modules() -> None:
    """Of another test's folder, or another form of this one's: they have the same names."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "suites"]:
        del sys.modules[name]


@pytest.fixture
def suites(tmp_path: Path) -> Suites:
    forget_modules()
    return Suites(tmp_path).write()


@pytest.fixture
def run_here(
    suites: Suites, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """``run_here(*arguments)`` -> (exit code, output): as ``suites.run``, in this process, which saves starting one."""
    monkeypatch.chdir(suites.folder)
    monkeypatch.setenv("BITGATE_OUT", str(suites.folder / "out"))

    def _run(*arguments: str) -> tuple[int, str]:
        forget_modules()
        plain = ["-p", "no:faulthandler", "--import-mode=importlib", "--rootdir=."]
        capsys.readouterr()
        gc.freeze()  # it ends with five full collections: what the tests before it have left is not looked through
        try:
            code = int(pytest.main([*suites.command()[3:], *plain, *arguments]))
        except SystemExit as end:
            code = int(str(end.code))
        return code, "".join(capsys.readouterr())

    return _run
