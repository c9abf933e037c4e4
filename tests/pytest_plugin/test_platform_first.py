"""Probes of the platform run before anything else, wherever their suite stands; if one is red, nothing else runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bitgate.results.record import Outcome

ROWS = """
[[case]]
case = "probe_platform"
fills = "probe"
tier = "smoke"
kernels = "platform_probe*"
why = "the platform"
"""
PROBES = """
import os, signal
from bitgate.testing import cases

@cases("zz_probes")
def test_probe(planned, check):
    check(planned)
"""
RED = '    assert planned.key.instance != "lanes", "B is transposed"\n'
DEADLY = '    planned.key.instance == "lanes" and os.kill(os.getpid(), signal.SIGKILL)\n'


@pytest.fixture
def probed(suites: Any) -> Any:
    """The toy suite, and one of probes after it in the alphabet; ``write(more)`` adds to what its test does."""

    def write(more: str = "") -> Any:
        suites.write()
        folder = Path(suites.folder) / "suites" / "zz_probes"
        folder.mkdir(exist_ok=True)
        (folder / "cases.toml").write_text(ROWS)
        (folder / "test_probes.py").write_text(PROBES + more)
        return suites

    return write


def by_kernel(suites: Any) -> tuple[dict[str, Outcome], list[Outcome]]:
    """Last outcome of each probe, and of each other case."""
    last = {verdict.test: verdict for verdict in suites.verdicts}
    probes = {v.key.instance: v.outcome for v in last.values() if v.key.kernel == "platform_probe"}
    return probes, [v.outcome for v in last.values() if v.key.kernel != "platform_probe"]


@pytest.mark.parametrize("workers", ["-n0", "-n2", "--processes=2"])
def test_probes_come_first(probed: Any, workers: str) -> None:
    suites = probed()
    assert suites.run(workers).returncode == 0
    kernels = [verdict.key.kernel for verdict in suites.verdicts]
    assert kernels == ["platform_probe"] * 6 + ["naive_conv"] * 6


@pytest.mark.parametrize("workers", ["-n0", "-n2", "--processes=2"])
def test_behind_a_red_probe_nothing_runs(probed: Any, workers: str) -> None:
    suites = probed(RED)
    finished = suites.run(workers)
    assert finished.returncode == 1
    probes, others = by_kernel(suites)
    assert probes["lanes"] is Outcome.MISMATCH
    assert {name for name, outcome in probes.items() if outcome is Outcome.NOT_RUN} == {"accumulators", "subnormals"}
    assert others == [Outcome.NOT_RUN] * 6
    reasons = {verdict.reason for verdict in suites.verdicts if verdict.outcome is Outcome.NOT_RUN}
    assert len(reasons) == 1
    assert "the platform is not as declared: lanes:" in reasons.pop()
    assert "1 failed" in finished.stdout  # one line of red, not one a case


def test_a_probe_that_kills_its_worker_is_red(probed: Any) -> None:
    suites = probed()
    (suites.folder / "suites/zz_probes/test_probes.py").write_text(PROBES.replace("    check", DEADLY + "    check"))
    assert suites.run("-n2").returncode == 1
    probes, others = by_kernel(suites)
    assert probes["lanes"] is Outcome.CRASHED
    assert others == [Outcome.NOT_RUN] * 6


def test_a_resumed_run_asks_the_red_probe_again(probed: Any) -> None:
    suites = probed(RED)
    assert suites.run("-n2").returncode == 1
    probed()
    assert suites.run("-n2", "--resume").returncode == 0
    probes, others = by_kernel(suites)
    assert set(probes.values()) == set(others) == {Outcome.PASS}


def test_a_selection_without_probes_has_nothing_to_wait_for(probed: Any) -> None:
    suites = probed(RED)
    assert suites.run("-n2", "-k", "toy").returncode == 0
    assert suites.outcomes == ["PASS"] * 6
