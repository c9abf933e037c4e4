"""The record and pytest say the same of a test, whatever else than its verdict it comes to, and each verdict once."""

from __future__ import annotations

from typing import Any

import pytest

IN_SETUP = """
import pytest
from bitgate.testing import cases

@pytest.fixture
def checked(planned, check):
    check(planned)
    pytest.skip("that was all")

@cases("toy")
def test_toy(planned, checked):
    pass
"""

IN_TEARDOWN = """
import pytest
from bitgate.testing import cases

@pytest.fixture
def tidy(planned):
    yield
    assert "f64" not in planned.case, "not tidy"

@cases("toy")
def test_toy(planned, check, tidy):
    check(planned)
"""

TWICE = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    for _ in range(2):  # as pytest-rerunfailures does
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if all(report.passed for report in reports):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""

FAILS_ONCE = """    check(planned)
    if not os.path.exists("tried") and "f64" in planned.case:
        open("tried", "w")
        raise ValueError("the first time")"""


@pytest.fixture(params=["-n0", "--processes=2"])
def way(request: pytest.FixtureRequest) -> Any:
    return request.param


def write(suites: Any, module: str) -> None:
    (suites.folder / "suites" / "toy" / "test_toy.py").write_text(module)


def test_a_verdict_that_was_asked_for_while_its_test_was_set_up(suites: Any, way: str) -> None:
    write(suites, IN_SETUP)
    done = suites.run(way)
    assert done.returncode == 0, done.stdout
    assert suites.outcomes == ["PASS"] * 6


def test_a_test_that_fails_in_teardown_is_red_on_the_record(suites: Any, way: str) -> None:
    write(suites, IN_TEARDOWN)
    assert suites.run(way).returncode == 1
    last = {verdict.test: verdict for verdict in suites.verdicts}
    red = [verdict for verdict in last.values() if not verdict.green]
    assert len(red) == suites.junit.failures == 3
    assert all("not tidy" in verdict.reason and "f64" in verdict.key.case for verdict in red)
    suites.write()
    done = suites.run(way, "--resume")
    assert done.returncode == 0, done.stdout
    assert "3 passed, 3 deselected" in done.stdout


def test_a_test_rerun_by_another_plugin_has_a_line_for_each_run(suites: Any, way: str) -> None:
    """And a run in which one build has answered in two ways is not green."""
    suites.write(module=("    check(planned)", FAILS_ONCE))
    (suites.folder / "suites" / "conftest.py").write_text(TWICE)
    done = suites.run(way)
    assert done.returncode == 1, done.stdout
    assert suites.outcomes == ["MISMATCH"] + ["PASS"] * 6
