"""Whatever a step does to its process is that step's finding."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from bitgate.core.project import ours
from bitgate.lab.bringup.finding import STEPS, FaultDomain, StepFinding, StepResult
from bitgate.lab.bringup.functions import format_missing, listed, needed
from bitgate.lab.bringup.server import taken


def take(name: str, seconds: float = 120) -> tuple[StepFinding, dict[str, str], list[str]]:
    told: list[str] = []
    finding, files = taken(
        replace(STEPS[3], seconds=seconds),
        f"tests.bringup.bad_steps:{name}",
        {"project": ours().as_json()},
        told.append,
    )
    return finding, dict(files), told


@pytest.fixture(autouse=True)
def steps_of_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dies", "its process died of SIGSEGV"),
        ("leaves", "its process ended with exit code 3 and no verdict"),
        ("raises", "KeyError: 'hipFoo'"),
        ("refuses", "no compiler: install one"),
    ],
)
def test_each_end_of_a_step_is_its_finding(name: str, sentence: str) -> None:
    finding, files, _ = take(name)
    assert (finding.result, finding.blames, finding.sentence) == (StepResult.RED, FaultDomain.INSTALLATION, sentence)
    if name == "leaves":
        assert files["output.txt"] == "last words\n"
    if name == "raises":
        assert "Traceback" in files["error.txt"]


def test_a_step_that_hangs_is_ended() -> None:
    finding, files, _ = take("hangs", seconds=9)
    assert finding.sentence == "no verdict within 9 s"
    assert "most recent call first" in files["output.txt"]  # where it stood


def test_a_step_that_is_well_is_green() -> None:
    finding, files, told = take("works")
    assert (finding.result, finding.sentence, finding.detail) == (StepResult.GREEN, "fine", {"figure": 3})
    assert (files, told) == ({"note.txt": "a note"}, ["half way"])


def test_functions_are_traced_to_who_calls_them() -> None:
    users = needed(listed())
    assert "runtime/device.py" in users["hipStreamCreateWithFlags"]
    assert "kernels/include/bitgate/launch.hpp" in users["hipLaunchKernel"]
    assert "runtime/runtime.py" in users["hipGetDevicePropertiesR0600"]  # as hip-python spells it
    assert users.keys() <= set(listed())
    assert "hipMemset2D" not in users
    assert format_missing(["hipA", "hipB"], {"hipA": ("x.py", "y.py", "z.py")}) == "hipA (x.py and 2 more), hipB"
