"""Faults tried on a real kernel and a suite of one case: one that is found, a hole, and one that does not compile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.tools.faults.fault import Fault
from bitgate.tools.faults.share import Share
from bitgate.tools.faults.trial import Trial, TrialSetup, exit_code, found_share, try_faults

SOURCE = "kernels/naive_conv/instances.hpp"
LAUNCH = "  switch (choose<T>(request, arguments.shape)) {"

CASES = """
[[case]]
name = "tiny"
pass = "fwd"
dtypes = "i8"
layouts = "nhwgc"
kernels = "naive_conv*"
shape = "g1n1k2c3_y2x2_h4x4"
tier = "smoke"
why = "one case is enough to notice a kernel that does nothing"
"""
TEST = """
from bitgate.testing import verified

test_bits = verified("one_case")
"""


@pytest.fixture
def bench(tmp_path: Path) -> TrialSetup:
    suite = tmp_path / "one_case"
    suite.mkdir()
    (suite / "cases.toml").write_text(CASES)
    (suite / "test_bits.py").write_text(TEST)
    return TrialSetup("smoke", "host", 300, ours().of_suites(suite), jobs=2)


def test_what_becomes_of_three_faults(bench: TrialSetup) -> None:
    faults = [
        Fault("launches_nothing", "a grid of no blocks", SOURCE, LAUNCH, f"  return;\n{LAUNCH}", "never_written"),
        Fault("changes_nothing", "nothing", SOURCE, LAUNCH, f"/* the same */ {LAUNCH}"),
        Fault("does_not_compile", "a slip", SOURCE, LAUNCH, f"{LAUNCH} oops"),
    ]
    reported: list[Trial] = []
    source = paths.root() / SOURCE
    before = source.read_bytes()

    found, hole, broken = try_faults(faults, bench, reported.append)

    assert (found.killed, found.verdict, found.diagnosed) == (True, "MISMATCH", True)
    assert "test_bits[fwd_i8_nhwgc_" in found.by
    assert (hole.valid, hole.killed) == (True, False)
    assert not broken.valid
    assert (found_share([found, hole, broken]), exit_code([found, hole, broken])) == (Share(1, 2), 2)
    assert sorted(trial.fault.name for trial in reported) == sorted(fault.name for fault in faults)
    assert source.read_bytes() == before


def test_a_run_ends_once_the_diagnosis_is_named(bench: TrialSetup, tmp_path: Path) -> None:
    """The limit would end it too, as a run that hangs."""
    later = f"import pathlib, time\ndef test_later():\n  time.sleep(60)\n  pathlib.Path(r'{tmp_path}/later').touch()\n"
    (bench.project.suites[0] / "test_later.py").write_text(later)
    fault = Fault("launches_nothing", "a grid of no blocks", SOURCE, LAUNCH, f"  return;\n{LAUNCH}", "never_written")
    (found,) = try_faults([fault], bench, lambda _: None)
    assert (found.killed, found.diagnosed) == (True, True)
    assert not (tmp_path / "later").exists()


def test_an_interrupt_ends_the_runs_that_are_under_way(bench: TrialSetup) -> None:
    faults = [Fault(f"changes_nothing_{n}", "nothing", SOURCE, LAUNCH, f"/* {n} */ {LAUNCH}") for n in range(6)]
    before = threading.active_count()

    def interrupt(_: Trial) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        try_faults(faults, bench, interrupt)
    assert threading.active_count() == before, "each thread has killed its run before it ended"


@pytest.mark.parametrize("replacement", ["", f"  return;\n{LAUNCH}"], ids=["built alone", "switched"])
def test_a_run_that_is_ended_takes_its_children_along(bench: TrialSetup, tmp_path: Path, replacement: str) -> None:
    (tmp_path / "faults.toml").write_text(
        f'[[fault]]\nname = "slow"\nimitates = "nothing"\nfile = "{SOURCE}"\nfind = """{LAUNCH}"""\n'
        f'replace = """{replacement}"""\n'
    )
    (bench.project.suites[0] / "test_bits.py").write_text(
        f"import os, pathlib, time\npathlib.Path(r'{tmp_path}/pid').write_text(str(os.getpid()))\ntime.sleep(300)\n"
    )
    command = [sys.executable, "-m", "bitgate", "faults", "run", "--file", str(tmp_path / "faults.toml")]
    path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [*command, "--suites", str(bench.project.suites[0])], env={**os.environ, "PYTHONPATH": path}
    )
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "pid").is_file() and time.monotonic() < end:
            time.sleep(0.05)
        process.terminate()
        assert process.wait(30) == 130
    finally:
        process.kill()
    child = Path("/proc") / (tmp_path / "pid").read_text()
    assert not child.exists() or "zombie" in (child / "status").read_text()
