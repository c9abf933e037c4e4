"""A suite of adversarial kernels between healthy ones, run as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.adversarial_kernels.catalogue import DECLARATION, HEALTHY, BadKernel, shape

from bitgate.core import paths
from bitgate.results.plan import Plan
from bitgate.results.record import Verdict, read

DEADLINE = 60
"""Seconds that a case may take: no load of the machine reaches them."""

SHORT_DEADLINE = 5
"""The same where all bad kernels hang, and their neighbours do next to nothing."""

SECONDS = 900
"""Seconds after which a whole run hangs."""

SPIN_SECONDS = "0.3"
"""Processor time that a thread may spin: a share of the deadline otherwise, which is long here."""

TOKEN = "BITGATE_ADVERSARIAL_RUN"
"""A variable of every process of a run: by it they are found again, whatever group or session they went to."""

BITGATE = (sys.executable, "-c", "from bitgate.cli.main import main; main()")
PLAIN = (sys.executable, "-m", "pytest", "-p", "bitgate.pytest_plugin", "-p", "no:cacheprovider")
COMMANDS = {
    "two workers": (*BITGATE, "run", "suites", "-n", "2"),
    "no workers": (*BITGATE, "run", "suites", "-n", "0"),
    "plain pytest": (*PLAIN, "suites"),
}
"""The three ways to run a suite."""

MODULE = """
from bitgate.testing import verified

test_bad_kernel = verified("adversarial")
"""

ROW = """
[[case]]
name = "{name}"
shape = "{shape}"
kernels = {kernels}
why = "{why}"
"""
DEFAULTS = '[defaults]\npass = "fwd"\ndtypes = "f32"\nlayouts = "nhwgc"\ntier = "smoke"\n'


@dataclass
class Ended:
    """How a command ended. ``left`` are processes of it that were still there, which are gone by now."""

    code: int
    output: str
    errors: str
    left: list[str]

    @property
    def said(self) -> str:
        return self.output + self.errors


@dataclass
class SuiteRun:
    folder: Path
    bad_kernels: Sequence[BadKernel] = ()
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    target: str = "host"

    def write(self, bad_kernels: Sequence[BadKernel]) -> SuiteRun:
        """A suite of these: first a healthy kernel by itself, then every bad one with a healthy one right after it, on
        the same problem, so that the two meet in one worker."""
        self.bad_kernels = bad_kernels
        suite = self.folder / "suites" / "adversarial"
        suite.mkdir(parents=True, exist_ok=True)
        rows = [ROW.format(name="entrance", shape=shape(0), kernels=[HEALTHY], why="a suite of none is healthy")]
        for bad in bad_kernels:
            why = bad.does.replace('"', "'")
            kernels = [bad.kernel, HEALTHY]
            rows.append(ROW.format(name=bad.name, shape=bad.shape, kernels=kernels, why=why))
        (suite / "cases.toml").write_text(DEFAULTS + "".join(rows))
        (suite / "test_adversarial_suite.py").write_text(MODULE)
        return self

    def run(self, mode: str, *more: str, deadline: int = DEADLINE) -> Ended:
        loads = [DECLARATION, *(bad.declaration for bad in self.bad_kernels if bad.load)]
        given = [f"--load={path}" for path in loads]
        return self.call(*COMMANDS[mode], f"--target={self.target}", f"--case-timeout={deadline}", *given, *more)

    def call(self, *command: str) -> Ended:
        """Run it in a separate session, with its output in files: what is left holds neither us nor a pipe."""
        files = [self.folder / "output", self.folder / "errors"]
        with files[0].open("wb") as output, files[1].open("wb") as errors:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            code = -1
        left = self._end_what_is_left()
        process.wait()
        out, err = (file.read_text(errors="replace") for file in files)
        return Ended(code, out, err, left)

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "BITGATE_T"))}
        path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        out = str(self.folder / "out")
        return inherited | {
            "PYTHONPATH": path,
            "BITGATE_OUT": out,
            TOKEN: self.token,
            "PYTHONFAULTHANDLER": "",
            "BITGATE_SPIN_SECONDS": SPIN_SECONDS,
        }

    def _end_what_is_left(self) -> list[str]:
        """Processes that outlive their run by more than a moment."""
        deadline = time.monotonic() + 1
        while (left := self._processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        for process in left:
            os.kill(process, signal.SIGKILL)
        return [_words(process) for process in left]

    def _processes(self) -> list[int]:
        mark = f"{TOKEN}={self.token}".encode()
        return [process for process in map(int, _numbers()) if mark in _bytes(process, "environ").split(b"\0")]

    @property
    def verdicts(self) -> list[Verdict]:
        path = self.folder / "out" / self.target / "results.jsonl"
        return list(read(path)) if path.exists() else []

    @property
    def planned(self) -> set[str]:
        path = self.folder / "out" / self.target / "plan.json"
        return {item.test for item in Plan.read(path).cases} if path.exists() else set()

    @property
    def differences(self) -> list[str]:
        """Every bad kernel whose verdict is not that of the table, and every healthy kernel that was harmed."""
        found = {
            (verdict.key.case, f"{verdict.key.kernel}.{verdict.key.instance}"): verdict for verdict in self.verdicts
        }
        wrong = []
        for bad in self.bad_kernels:
            verdict = found.get((_id(bad), bad.kernel))
            wrong.append(bad.difference(*_ending(verdict)))
            neighbour = found.get((_id(bad), HEALTHY))
            outcome, reason = _ending(neighbour)
            wrong.append("" if outcome == "PASS" else f"the neighbour of {bad.name}: {outcome}: {reason}")
        return [text for text in wrong if text]


def _ending(verdict: Verdict | None) -> tuple[str, str]:
    if verdict is None:
        return "nothing", ""
    sentence = verdict.diagnosis.sentence if verdict.diagnosis else ""
    return verdict.outcome.value, verdict.reason if sentence in verdict.reason else f"{verdict.reason}; {sentence}"


def _id(bad: BadKernel) -> str:
    from bitgate.interop import problems_of
    from bitgate.model import case_id

    (problem,) = problems_of(bad.case)
    return case_id(problem)


def _numbers() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _bytes(process: int, file: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{file}").read_bytes()
    except OSError:  # gone by now, or not ours
        return b""


def _words(process: int) -> str:
    return _bytes(process, "cmdline").replace(b"\0", b" ").decode(errors="replace")[:200]
