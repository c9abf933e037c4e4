"""Every bad kernel has exactly its verdict, its healthy neighbour is unharmed, and the run ends as it must."""

from __future__ import annotations

from typing import Any

import pytest
from tests.adversarial_kernels.catalogue import APART, BAD_KERNELS, HANGING, TOGETHER
from tests.adversarial_kernels.suite_run import COMMANDS, SHORT_DEADLINE

MODES = pytest.mark.parametrize("mode", [pytest.param(mode, marks=pytest.mark.xdist_group(mode)) for mode in COMMANDS])
"""With ``-n 3 --dist loadgroup`` the three go side by side, each on a separate worker: most of a run is waiting."""


def reported(suite_run: Any) -> None:
    """Print each difference in a separate line."""
    wrong = suite_run.differences
    assert not wrong, "\n".join([f"{len(wrong)} verdicts are not those of catalogue.toml:", *wrong])


@MODES
def test_every_bad_kernel_has_exactly_its_verdict(suite_run: Any, mode: str) -> None:
    ended = suite_run.write(TOGETHER).run(mode)
    reported(suite_run)
    tests = [verdict.test for verdict in suite_run.verdicts]
    assert len(tests) == len(set(tests)) == 2 * len(TOGETHER) + 1
    assert set(tests) == suite_run.planned
    assert ended.code == 1, ended.said[-2000:]
    assert ended.left == []


@MODES
def test_what_hangs_is_ended_at_its_deadline(suite_run: Any, mode: str) -> None:
    ended = suite_run.write(HANGING).run(mode, deadline=SHORT_DEADLINE)
    reported(suite_run)
    assert ended.code == 1, ended.said[-2000:]
    assert ended.left == []


@MODES
def test_healthy_kernels_alone_are_green(suite_run: Any, mode: str) -> None:
    """Those are harmless too that act only when exit() is called."""
    ended = suite_run.write(APART).run(mode)
    reported(suite_run)
    assert ended.code == 0, ended.said[-2000:]
    assert [verdict.outcome.value for verdict in suite_run.verdicts] == ["PASS"] * (1 + 2 * len(APART))


@MODES
def test_what_ends_with_0_makes_no_run_green(suite_run: Any, mode: str) -> None:
    leaving = [bad for bad in BAD_KERNELS if bad.name == "exit_0"]
    ended = suite_run.write(leaving).run(mode)
    reported(suite_run)
    assert ended.code == 1, ended.said[-2000:]


def test_the_table_tells_of_a_adversarial() -> None:
    assert len(TOGETHER) >= 60
    assert APART
    assert HANGING
    assert len({bad.name for bad in BAD_KERNELS}) == len(BAD_KERNELS)
    assert {bad.verdict for bad in TOGETHER} == {
        *("PASS", "MISMATCH", "NONDETERMINISTIC", "CORRUPTED"),
        *("CRASHED", "HUNG", "BUILD_FAILED", "REFUSED", "INFRA", "red"),
    }
    # Nothing spins for ever, takes all memory or resets the device where others work.
    shared = {bad.name for bad in BAD_KERNELS if bad.gpu}
    assert not [name for name in shared if name.startswith(("spins", "resets", "runs_out"))]
