"""What a process of kernels does before anybody knows what it will be asked saves time, and changes nothing."""

from __future__ import annotations

import select
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.runtime.targets import named
from bitgate.verify.opened_target import OpenedTarget, prewarm
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.worker import zygote

UNHEALTHY = Path(__file__).parent / "unhealthy" / "declaration.py"
PROJECT = ours().loading([UNHEALTHY])
OURS = ["naive_conv"]


def planned(illness: str) -> PlannedCase:
    problem = parse_case_id("fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1")
    kernel = kernel_called(families(PROJECT, "host", here=True), "unhealthy", "fwd_f32", [("illness", illness)])
    return PlannedCase(problem, kernel)


def process_of(process: CaseProcess) -> psutil.Process:
    child = process._worker._child
    assert child is not None
    return psutil.Process(child._process.pid)


@pytest.fixture
def process() -> CaseProcess:
    return CaseProcess(Opening("host"))


def test_judge_and_launcher_are_copies_of_zygotes(process: CaseProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each would import for half a second what the other one has imported."""
    monkeypatch.setattr(zygote, "_here", None)
    with process:
        process.start()
        process._worker.opened()
        judge = process_of(process)
        (below,) = judge.children()
        (launcher,) = below.children()
        assert launcher.cmdline() == below.cmdline() == judge.cmdline()


def test_it_is_opened_for_what_was_found_meanwhile(process: CaseProcess) -> None:
    with process:
        process.spawn()
        process.prewarm(OURS)
        process.opening = replace(process.opening, project=PROJECT)
        process.start()
        process.ahead(planned("none"))
        while not process.is_ready():
            assert select.select([process.bell], [], [], 60.0)[0]
        assert process.verify(planned("none")).outcome is Outcome.PASS
        assert process.number == 1
        assert process.verify(planned("wrong")).outcome is Outcome.MISMATCH


@pytest.mark.parametrize("ahead", [False, True])
def test_one_that_ends_over_it_is_replaced(process: CaseProcess, ahead: bool) -> None:
    """As if it had never begun: whatever ended it does so again where a case needs it."""
    with process:
        process.opening = replace(process.opening, project=PROJECT)
        process.spawn()
        process.prewarm(OURS)
        process.start()
        if ahead:
            process.ahead(planned("none"))
        child = process_of(process)
        child.kill()
        while child.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        while not process.is_ready():
            assert select.select([process.bell], [], [], 60.0)[0]
        assert process.verify(planned("none")).outcome is Outcome.PASS
        assert process.number == 2


def test_what_was_opened_is_not_opened_again() -> None:
    early, later = OpenedTarget(named("host")), OpenedTarget(named("host"), PROJECT)
    early.library(OURS[0])
    prewarm(early, OURS)
    later.take_over(early)
    assert later.device is early.device
    assert later.library(OURS[0]) is early.library(OURS[0])


def test_nothing_is_built_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "cache_dir", lambda: tmp_path)
    assert not Builder().is_built()
    opened = OpenedTarget(named("host"), progress=lambda line: pytest.fail(line))
    prewarm(opened, OURS)
    assert "device" not in vars(opened)
