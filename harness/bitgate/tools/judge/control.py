"""The control of a case that ended without an answer: a function that computes nothing, in the submission's place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.results.record import Outcome, Verdict
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.selection import candidates, select_for


def leave_poison(problem: Any, tensors: Any) -> None:
    """Compute nothing: the outputs stay as they were, and the verdict is MISMATCH where a case can be answered."""


CONTROL = leave_poison.__name__


def blamed(verdict: Verdict, planned: PlannedCase, project: Project, seconds: float) -> Verdict:
    """Return the verdict of a submission, which is to blame for an INFRA if the project's control is answered there.

    What its process says of memory, of a device or of a defect is a claim.
    """
    if verdict.outcome is not Outcome.INFRA or not _is_answered(planned, project, seconds):
        return verdict
    why = f"{verdict.reason}; it is to blame: a function that computes nothing is answered there"
    return replace(verdict, outcome=Outcome.CRASHED, reason=why)


def _is_answered(planned: PlannedCase, project: Project, seconds: float) -> bool:
    try:
        kernels = select_for(planned.problem, candidates(None, {}, planned.target, project)).supporting
        with CaseProcess(Opening(planned.target, project)) as process:
            verdicts = [process.verify(replace(planned, kernel=one), seconds) for one in kernels[:1]]
    except UsageError:
        return False
    return any(one.outcome is Outcome.MISMATCH for one in verdicts)
