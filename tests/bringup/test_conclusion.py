"""What the findings of the steps come to: one line, and who is to hear of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.lab.bringup.conclusion import CODES, conclude
from bitgate.lab.bringup.finding import (
    RIGHT_UNOPTIMISED,
    STEPS,
    BringupStep,
    FaultDomain,
    RedCase,
    StepFinding,
    StepResult,
    blamed,
    obstacle,
)

RED = RedCase(
    {"case": "fwd_f32", "kernel": "grouped_fwd", "instance": "f32", "verdict": "MISMATCH", "reason": "3 cells"}
)


def findings(red: tuple[str, ...] = (), compared: int = 6, interrupted: str = "") -> list[StepFinding]:
    found = []
    for step in STEPS:
        if step.name == interrupted:
            found.append(StepFinding(step.name, StepResult.INTERRUPTED, "Ctrl-C"))
        elif step.name in red:
            found.append(StepFinding(step.name, StepResult.RED, "is wrong", blames=step.blames, reds=(RED,)))
        else:
            found.append(StepFinding(step.name, StepResult.GREEN, "fine", compared=compared))
    return found


@pytest.mark.parametrize(
    ("red", "kind", "code", "addressee"),
    [
        ((), "green", 0, "nothing to send"),
        (("doctor",), "installation", 2, "administrator of this machine"),
        (("device", "tools", "smoke"), "installation", 2, "step 'device'"),
        (("probes", "tiny"), "platform", 1, "bitgate's authors"),
        (("tiny", "smoke"), "kernel", 1, "the authors of grouped_fwd"),
        (("smoke",), "kernel", 1, "the authors of grouped_fwd"),
    ],
)
def test_the_first_red_step_decides(red: tuple[str, ...], kind: str, code: int, addressee: str) -> None:
    end = conclude(findings(red))
    assert (end.kind, end.code) == (kind, code)
    assert addressee in end.send
    for later in red[1:]:
        assert later in end.sentence


def test_what_was_not_compared_is_not_green() -> None:
    assert (conclude(findings(compared=0)).kind, conclude(findings(compared=0)).code) == ("nothing", 3)


def test_a_compiler_that_is_suspected_is_named_to_its_makers() -> None:
    red = RedCase(RED.event, f"in a separate process: MISMATCH; {RIGHT_UNOPTIMISED}")
    found = [StepFinding("tiny", StepResult.RED, "1 of 9 cases red", blames=FaultDomain.KERNEL, reds=(red, RED))]
    assert conclude(found).send.startswith(
        "send the bundle to the authors of grouped_fwd, and its capsules to the makers of"
    )


def test_where_no_red_case_was_answered_the_machine_failed() -> None:
    lost, wrong = RedCase({"verdict": "INFRA", "reason": "the device is not sound"}), RED
    tiny = STEPS[6]
    assert blamed(tiny, [lost, lost]) is FaultDomain.INSTALLATION
    assert blamed(tiny, [lost, wrong]) is FaultDomain.KERNEL


def test_an_interrupted_visit_says_what_was_red_until_then() -> None:
    end = conclude(findings(("probes",), interrupted="smoke"), is_whole=False)
    assert (end.kind, end.code) == ("interrupted", 130)
    assert end.sentence == "interrupted after tiny; red so far: probes"


@given(st.sets(st.sampled_from([step.name for step in STEPS]), min_size=1))
def test_no_red_step_is_lost(red: set[str]) -> None:
    end = conclude(findings(tuple(red)))
    assert all(name in end.sentence for name in red)
    assert end.code == CODES[FaultDomain(end.kind)] != 0


def test_what_needs_a_red_step_is_not_tried_and_says_why() -> None:
    known = {found.step: found for found in findings(("probes",))}
    steps = {step.name: step for step in STEPS}
    assert obstacle(steps["tiny"], known) == "probes is red: is wrong"
    assert obstacle(steps["tools"], known) == ""
    known["device"] = StepFinding("device", StepResult.NOT_TRIED, "left out")
    assert obstacle(BringupStep("x", "", FaultDomain.KERNEL, 1, ("device",)), known) == "device was not tried"
