"""A rule that loops, or leaves, takes nothing from a diagnosis but its own finding."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any

import pytest

from bitgate.verify.diagnose import Finding, Role, Scene, diagnose
from bitgate.verify.diagnose.engine import DIAGNOSIS_SECONDS, DiagnosisTimeout, within

CASE = "fwd_f32_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1"


def loops(scene: Scene[Any] | None = None) -> None:
    while True:
        pass


def catches_everything(scene: Scene[Any]) -> None:
    begun = time.monotonic()
    while time.monotonic() - begun < 60:
        try:
            loops(scene)
        except BaseException:
            if time.monotonic() - begun > 1.5:  # the third time it is asked to end
                raise


def leaves(scene: Scene[Any]) -> None:
    sys.exit(3)


def tells(scene: Scene[Any]) -> Finding:
    return Finding("k_tail", Role.CAUSE, 1.0, "the end is lost")


@pytest.mark.parametrize("rule", [loops, catches_everything])
def test_a_rule_that_does_not_end_is_named_with_other_findings(patient, monkeypatch, rule) -> None:
    monkeypatch.setenv(DIAGNOSIS_SECONDS, "2.5")
    p = patient(CASE)
    p.result[...] = 0
    diagnosis = diagnose(p.scene(), (rule, tells))
    assert diagnosis.kinds[0] == "k_tail"
    assert diagnosis.sentence.startswith("the end is lost")
    assert diagnosis.sentence.endswith(f"; the rule {rule.__name__} did not end within 0.5 s")
    assert diagnosis.evidence["failed_rules"] == {rule.__name__: "did not end within 0.5 s"}


def test_a_rule_that_leaves_the_process_does_not(patient) -> None:
    p = patient(CASE)
    p.result[...] = 0
    diagnosis = diagnose(p.scene(), (leaves, tells))
    assert diagnosis.kinds[0] == "k_tail"
    assert diagnosis.evidence["failed_rules"] == {"leaves": "SystemExit: 3"}


def test_what_ends_in_time_leaves_no_alarm_behind() -> None:
    before = signal.getsignal(signal.SIGALRM)
    assert within(100.0, lambda: 7) == 7
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before
    with pytest.raises(DiagnosisTimeout, match=r"did not end within 0\.1 s"):
        within(0.1, loops)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_an_alarm_of_somebody_else_is_not_touched() -> None:
    signal.setitimer(signal.ITIMER_REAL, 1000.0)
    try:
        assert within(1.0, lambda: signal.getitimer(signal.ITIMER_REAL)[0]) > 900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_a_thread_has_no_alarm_but_an_answer() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(within(1.0, lambda: 7)))
    thread.start()
    thread.join()
    assert found == [7]
