"""A case that its process begins while the verdict before it is dealt with: the same verdicts, each of its case."""

from __future__ import annotations

import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening

UNHEALTHY = Path(__file__).parent / "unhealthy" / "declaration.py"
FAMILIES = families(ours().loading([UNHEALTHY]), "host", here=True)
SOON = 3.0


def planned(illness: str) -> PlannedCase:
    problem = parse_case_id("fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1")
    return PlannedCase(problem, kernel_called(FAMILIES, "unhealthy", "fwd_f32", [("illness", illness)]))


@pytest.fixture
def kernels() -> Iterator[CaseProcess]:
    """With the library loaded: nothing begins ahead before."""
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY]))) as process:
        assert process.verify(planned("none")).outcome is Outcome.PASS
        yield process


def judge_of(process: CaseProcess) -> psutil.Process:
    child = process._worker._child
    assert child is not None
    return psutil.Process(child._process.pid)


def wait_for(process: CaseProcess) -> None:
    while not process.is_ready():
        assert select.select([process.bell], [], [], 60.0)[0]


def test_its_verdict_is_there_when_it_is_asked_for(kernels: CaseProcess) -> None:
    for illness, outcome in (("wrong", Outcome.MISMATCH), ("none", Outcome.PASS), ("idle", Outcome.MISMATCH)):
        kernels.ahead(planned(illness))
        verdict = kernels.verify(planned(illness))
        assert verdict.outcome is outcome
        assert verdict.key == planned(illness).key


def test_one_whose_turn_comes_later_keeps_its_verdict(kernels: CaseProcess) -> None:
    """It is not launched again: what fails now and then might not fail then."""
    kernels.ahead(planned("hang"), SOON)
    kernels.ahead(planned("wrong"))
    child = judge_of(kernels)
    child.kill()
    assert kernels.verify(planned("none")).outcome is Outcome.PASS
    assert kernels.in_line == 1
    verdict = kernels.verify(planned("hang"), 600.0)
    assert (verdict.outcome, verdict.reason) == (Outcome.CRASHED, "its process died of SIGKILL")
    assert kernels.in_line == 0
    assert kernels.verify(planned("wrong")).outcome is Outcome.MISMATCH


def test_a_dead_process_is_not_replaced_before_it_was_reported(kernels: CaseProcess) -> None:
    kernels.ahead(planned("hang"), SOON)
    child = judge_of(kernels)
    child.kill()
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    kernels.ahead(planned("none"))
    assert kernels.verify(planned("hang")).reason == "its process died of SIGKILL"
    assert kernels.verify(planned("none")).outcome is Outcome.PASS


class Enough(BaseException):
    """As pytest-timeout raises it out of a signal's handler."""


def enough(*_: object) -> None:
    raise Enough


def test_who_breaks_off_leaves_no_answer_for_the_next_question(kernels: CaseProcess) -> None:
    before = signal.signal(signal.SIGALRM, enough)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(Enough):
            kernels.verify(planned("hang"))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert kernels.verify(planned("none")).outcome is Outcome.PASS


def test_one_that_kills_its_process_harms_no_other(kernels: CaseProcess) -> None:
    kernels.ahead(planned("abort"))
    assert kernels.verify(planned("none")).outcome is Outcome.PASS
    kernels.ahead(planned("abort"))
    assert kernels.verify(planned("abort")).outcome is Outcome.CRASHED
    assert kernels.verify(planned("none")).outcome is Outcome.PASS


def test_its_deadline_runs_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_SPIN_SECONDS", "100")
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY]))) as kernels:
        assert kernels.verify(planned("none")).outcome is Outcome.PASS
        kernels.ahead(planned("hang"), SOON)
        verdict = kernels.verify(planned("hang"), 600.0)
    assert verdict.outcome is Outcome.HUNG
    assert "within 3 s" in verdict.reason


def test_a_verdict_that_waited_for_its_caller_is_not_late(kernels: CaseProcess) -> None:
    kernels.ahead(planned("none"), SOON)
    time.sleep(1.1 * SOON)
    assert kernels.verify(planned("none"), SOON).outcome is Outcome.PASS


def test_a_process_that_is_not_open_yet_begins_when_it_is() -> None:
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY]))) as process:
        process.ahead(planned("abort"))
        assert process.verify(planned("none")).outcome is Outcome.PASS


def test_several_wait_in_line_and_each_has_its_own_verdict(kernels: CaseProcess) -> None:
    line = ["none", "wrong", "idle", "none"]
    assert all(kernels.ahead(planned(illness)) for illness in line)
    verdicts = [kernels.verify(planned(illness)) for illness in line]
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASS, Outcome.MISMATCH, Outcome.MISMATCH, Outcome.PASS]
    assert kernels.in_line == 0


def test_who_kills_the_process_takes_nobody_in_line_along(kernels: CaseProcess) -> None:
    for illness in ("abort", "none", "wrong"):
        kernels.ahead(planned(illness))
    assert kernels.verify(planned("abort")).outcome is Outcome.CRASHED
    assert kernels.in_line == 2  # the judge goes on with them in another launcher
    assert kernels.verify(planned("none")).outcome is Outcome.PASS
    assert kernels.verify(planned("wrong")).outcome is Outcome.MISMATCH


def test_a_kernel_kills_its_process_before_the_open_is_reported() -> None:
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY]))) as process:
        for illness in ("abort", "none"):
            process.ahead(planned(illness))
        wait_for(process)
        assert process.verify(planned("abort")).outcome is Outcome.CRASHED
        assert process.verify(planned("none")).outcome is Outcome.PASS


def test_one_in_line_has_its_whole_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the one before it took."""
    monkeypatch.setenv("BITGATE_SPIN_SECONDS", "100")
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY]))) as kernels:
        assert kernels.ahead(planned("none"), SOON)
        assert kernels.ahead(planned("none"), SOON)
        time.sleep(1.1 * SOON)
        assert kernels.ahead(planned("hang"), SOON)
        outcomes = [kernels.verify(planned(illness)).outcome for illness in ("none", "none", "hang")]
    assert outcomes == [Outcome.PASS, Outcome.PASS, Outcome.HUNG]


@pytest.mark.parametrize(("illness", "outcome"), [("none", Outcome.PASS), ("abort", Outcome.CRASHED)])
def test_it_rings_when_a_verdict_is_there(kernels: CaseProcess, illness: str, outcome: Outcome) -> None:
    kernels.ahead(planned(illness))
    wait_for(kernels)
    assert kernels.verify(planned(illness)).outcome is outcome
    assert kernels.is_ready()
    assert kernels.bell == -1
