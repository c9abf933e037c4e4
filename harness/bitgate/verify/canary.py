"""A small case that cannot fail on a sound device, run before the device is reused after a case that broke it."""

from __future__ import annotations

from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

CASE = "fwd_f32_nhwgc_g1n1k8c8_y1x1_h3x3"


def distress(session: Session) -> str:
    """Return a sentence on what is wrong with the device; empty if the naive kernel still computes there."""
    problem = parse_case_id(CASE)
    kernel = session.reference_kernel(problem)
    if kernel is None:
        return f"no naive kernel for {session.target.name} could try it"
    verdict = verify(PlannedCase(problem, kernel, target=session.target.name), session)
    if verdict.outcome is Outcome.PASS:
        return ""
    return f"the naive kernel ends in {verdict.outcome} on {CASE}: {verdict.reason}"
