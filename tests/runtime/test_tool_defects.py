"""The tests of the harness' own kernels find defects that are planted in these."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bitgate.core.project import own_kernels
from bitgate.tools.faults.fault import Fault, read_faults

HERE = Path(__file__).parent
CHECKOUT = own_kernels().parent
DEFECTS = read_faults([HERE / "tool_defects.toml"])
EACH_TIME = "gaps_take_zeros_for_poison"
TESTS = str(HERE / "test_device_tools.py")
COMMAND = (sys.executable, "-m", "pytest", TESTS, "-x", "-q", "-p", "no:cacheprovider")


@pytest.mark.parametrize(
    "defect",
    [pytest.param(one, id=one.name, marks=[pytest.mark.nightly] * (one.name != EACH_TIME)) for one in DEFECTS],
)
def test_a_planted_defect_is_found(tmp_path: Path, defect: Fault) -> None:
    overlay = tmp_path / "planted"
    defect.plant(CHECKOUT, overlay)
    planted = {"BITGATE_OVERLAY": str(overlay), "BITGATE_OVERLAY_ROOT": str(CHECKOUT)}
    own = {"BITGATE_OUT": str(tmp_path / "out")}  # several run at a time
    done = subprocess.run(
        [*COMMAND, "-n0", "-m", ""], cwd=CHECKOUT, env={**os.environ, **planted, **own}, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout, done.stdout
    assert "AssertionError" in done.stdout or "assert" in done.stdout, done.stdout
