"""Every exhibit has exactly its verdict, its healthy neighbour is unharmed, and the run ends as it must."""

from __future__ import annotations

from typing import Any

import pytest
from tests.adversarial_kernels.catalogue import APART, EXHIBITS, TOGETHER
from tests.adversarial_kernels.visit import COMMANDS

MODES = pytest.mark.parametrize("mode", [pytest.param(mode, marks=pytest.mark.xdist_group(mode)) for mode in COMMANDS])
"""With ``-n 3 --dist loadgroup`` the three go side by side, each on a worker of its own: most of a visit is waiting."""


def reported(visit: Any) -> None:
    """Print each difference in a separate line."""
    wrong = visit.differences
    assert not wrong, "\n".join([f"{len(wrong)} verdicts are not those of exhibits.toml:", *wrong])


@MODES
def test_every_exhibit_has_exactly_its_verdict(visit: Any, mode: str) -> None:
    ended = visit.write(TOGETHER).run(mode)
    reported(visit)
    tests = [verdict.test for verdict in visit.verdicts]
    assert len(tests) == len(set(tests)) == 2 * len(TOGETHER) + 1
    assert set(tests) == visit.planned
    assert ended.code == 1, ended.said[-2000:]
    assert ended.left == []


@MODES
def test_healthy_kernels_alone_are_green(visit: Any, mode: str) -> None:
    """Those are harmless too that act only when exit() is called."""
    ended = visit.write(APART).run(mode)
    reported(visit)
    assert ended.code == 0, ended.said[-2000:]
    assert [verdict.outcome.value for verdict in visit.verdicts] == ["PASS"] * (1 + 2 * len(APART))


@MODES
def test_what_ends_with_0_makes_no_run_green(visit: Any, mode: str) -> None:
    leaving = [exhibit for exhibit in EXHIBITS if exhibit.name == "exit_0"]
    ended = visit.write(leaving).run(mode)
    reported(visit)
    assert ended.code == 1, ended.said[-2000:]


def test_the_table_tells_of_a_museum() -> None:
    assert len(TOGETHER) >= 60
    assert APART
    assert len({exhibit.name for exhibit in EXHIBITS}) == len(EXHIBITS)
    assert {exhibit.verdict for exhibit in TOGETHER} == {
        *("PASS", "MISMATCH", "NONDETERMINISTIC", "CORRUPTED"),
        *("CRASHED", "HUNG", "BUILD_FAILED", "REFUSED"),
    }
    # Nothing spins for ever, takes all memory or resets the device where others work.
    shared = {exhibit.name for exhibit in EXHIBITS if exhibit.gpu}
    assert not [name for name in shared if name.startswith(("spins", "resets", "runs_out"))]
