"""The plugin hands a test what it asks for without pytest's machinery; only the clock shows it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from bitgate.cli.run import spared

OVER_OURS = """
import pytest

@pytest.fixture
def planned(planned):
    open("asked", "a").write(planned.case + chr(10))
    return planned
"""
BESIDE = """
import pytest
from bitgate.testing import cases

@pytest.fixture
def mine(planned, row, check, request):
    assert request.getfixturevalue("planned") is planned
    return planned, row

@cases("toy", ndim=2)
def test_toy(mine, planned, row, ndim, check, expect_dispatch):
    assert mine == (planned, row)
    assert mine[0] is planned
    assert planned.problem.ndim == ndim == 2
    expect_dispatch(check(planned), launches=1)
"""
OF_A_PARAMETER = """
import pytest
from bitgate.testing import cases

@pytest.mark.parametrize("planned", ["another"])
def test_of_no_case(planned):
    assert planned == "another"

@pytest.mark.parametrize("expect_dispatch", ["mine"])
@cases("toy")
def test_toy(planned, check, expect_dispatch):
    assert expect_dispatch == "mine"
    check(planned)
"""
LOGGING = """
import logging
from bitgate.testing import cases

@cases("toy")
def test_toy(planned, check, caplog):
    logging.getLogger("mine").warning("seen")
    assert caplog.messages == ["seen"]
    check(planned)
"""


def write(suites: Any, module: str) -> None:
    (suites.folder / "suites" / "toy" / "test_toy.py").write_text(module)


def test_an_owners_fixture_of_the_same_name_goes_before_ours(suites: Any) -> None:
    (suites.folder / "suites" / "conftest.py").write_text(OVER_OURS)
    done = suites.run("--processes=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted((suites.folder / "asked").read_text().split()) == sorted(v.key.case for v in suites.verdicts)


@pytest.mark.parametrize("module", [BESIDE, OF_A_PARAMETER], ids=["fixtures", "parameters"])
@pytest.mark.parametrize("processes", ["0", "1"])
def test_other_fixtures_and_parameters_stand_beside_ours(suites: Any, module: str, processes: str) -> None:
    write(suites, module)
    done = suites.run(f"--processes={processes}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert suites.outcomes == ["PASS"] * 6


def test_an_owners_suites_have_all_of_pytest(suites: Any) -> None:
    write(suites, LOGGING)
    done = subprocess.run(
        [sys.executable, "-m", "bitgate", "run", "suites", "--target", "host", "--tier", "smoke", "-n", "1"],
        cwd=suites.folder,
        env=suites.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert suites.outcomes == ["PASS"] * 4


def test_a_plugin_whose_options_are_asked_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "-pno:logging" in spared(["-x"])
    assert "-pno:logging" not in spared(["--log-level=INFO"])
    monkeypatch.setenv("PYTEST_ADDOPTS", "-q --log-cli-level INFO")
    assert "-pno:logging" not in spared([])
    assert "-pno:benchmark" in spared([])


FORMER = """
from bitgate.plugin import cases

@cases("toy", ndim=2)
def test_toy(planned, gate, took):
    took(gate(planned), launches=1)
"""


def test_former_fixture_names_work_with_one_warning_a_function(
    suites: Any, run_here: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "bitgate.plugin", raising=False)  # it warns once a process
    (suites.folder / "suites" / "toy" / "test_toy.py").write_text(FORMER)
    code, output = run_here("-W", "always")
    assert code == 0, output
    for old, new in (("gate", "check"), ("took", "expect_dispatch")):
        assert output.count(f"the fixture '{old}' is '{new}' now; the former name goes with 0.3") == 1
    assert "bitgate.plugin is not a public module: import from bitgate.testing" in output
