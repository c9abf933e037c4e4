"""A run keeps capsules of its red cases within a budget of bytes: ``bitgate run --dump-on-red``."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adversarial_kernels.catalogue import BAD_KERNELS
from tests.adversarial_kernels.suite_run import Ended, SuiteRun

from bitgate.cli.main import run

WRONG = [bad for bad in BAD_KERNELS if bad.name in ("wrong_cell", "clears_the_result")]


@pytest.fixture
def suites(tmp_path: Path) -> SuiteRun:
    """Two kernels with wrong results among healthy ones."""
    return SuiteRun(tmp_path).write(WRONG)


def capsules(suites: SuiteRun, size: str) -> tuple[Ended, list[Path]]:
    ended = suites.run("no workers", f"--dump-on-red={size}")
    assert ended.code == 1, ended.said
    return ended, sorted((suites.folder / "out" / "host" / "capsules").glob("*"))


def test_each_red_case_has_its_capsule(suites: SuiteRun) -> None:
    ended, found = capsules(suites, "4M")
    assert "2 capsules of red cases in " in ended.errors
    assert len(found) == 2
    for folder, bad in zip(found, sorted(WRONG, key=lambda bad: bad.case), strict=True):
        assert bad.name in folder.name
        assert {"case.hip.cpp", "Makefile", "README.txt"} <= {file.name for file in folder.iterdir()}


def test_the_budget_binds(suites: SuiteRun) -> None:
    _, (first, _) = capsules(suites, "4M")
    size = sum(file.stat().st_size for file in first.iterdir())
    ended, found = capsules(suites, str(size))
    assert found == [first]
    assert "1 capsules of red cases" in ended.errors
    assert "left out: 1, the first fwd_f32" in ended.errors
    left = (0, size)  # the other one may come first
    assert any(f"it does not fit into the {count} bytes that are left" in ended.errors for count in left)


@pytest.mark.parametrize("size", ["0", "x", "5T", "-1"])
def test_a_size_that_is_none(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", f"--dump-on-red={size}"]) == 2
    assert f"--dump-on-red {size}: give bytes" in capsys.readouterr().err
