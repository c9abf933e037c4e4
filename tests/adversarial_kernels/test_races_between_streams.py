"""`--race` names what two streams do without an order, and leaves those alone that are ordered."""

from __future__ import annotations

import pytest
from tests.adversarial_kernels.catalogue import DECLARATION

from bitgate.core.project import ours
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host", project=ours().loading([DECLARATION]))


def raced(session: Session, instance: str) -> Verdict:
    problem = parse_case_id("fwd_f32_nhwgc_g1n1k4c8_y1x1_h5x5_s1x1_d1x1_p0x0_q0x0")
    kernel = kernel_called(session.families, "adversarial", instance)
    return verify(PlannedCase(problem, kernel, schedule="race"), session)


@pytest.mark.parametrize(
    "instance", ["no_wait_between_streams", "second_stage_waits_for_nothing", "second_stage_on_the_null_stream"]
)
def test_two_streams_that_nothing_orders_race(session: Session, instance: str) -> None:
    verdict = raced(session, instance)
    assert verdict.outcome is Outcome.CRASHED
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.kinds == ("race",)
    assert "have neither a stream, an event nor a wait that orders them" in verdict.reason


@pytest.mark.parametrize("instance", ["two_streams_with_events", "fill_on_the_callers_stream", "healthy_reduction"])
def test_streams_that_are_ordered_do_not_race(session: Session, instance: str) -> None:
    verdict = raced(session, instance)
    assert verdict.outcome is Outcome.PASS, verdict.reason
