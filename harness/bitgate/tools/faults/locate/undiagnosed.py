"""A judge by bits that ends where a diagnosis would begin: whether a case is red is all that is asked."""

from __future__ import annotations

from bitgate.results.record import Verdict
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

JUDGE = f"{__name__}:verify_undiagnosed"


class _Foreseen(Exception):
    def __init__(self, verdict: Verdict) -> None:
        super().__init__()
        self.verdict = verdict


def verify_undiagnosed(planned: PlannedCase, session: Session) -> Verdict:
    """Return the verdict of one planned case by its reference, without what its wrong cells have in common."""

    def end(verdict: Verdict) -> None:
        raise _Foreseen(verdict)

    kept, session.foresee = session.foresee, end
    try:
        return verify(planned, session)
    except _Foreseen as foreseen:
        return foreseen.verdict
    finally:
        session.foresee = kept
