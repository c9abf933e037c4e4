"""Repeated runs of one case that has passed, as CK's examples time them."""

from __future__ import annotations

from dataclasses import dataclass

from bitgate.results.record import Verdict
from bitgate.tools.bench.arm import Arm, Candidate, TimedShape
from bitgate.tools.bench.settings import Settings
from bitgate.tools.bench.worker import CandidateRun
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess


@dataclass(frozen=True)
class Runs:
    """Device seconds of each run; none if anything went wrong, which ``failure`` then describes.

    ``includes`` names the parts of a run that do not compute.
    """

    seconds: tuple[float, ...] = ()
    includes: tuple[str, ...] = ()
    failure: str = ""


def timed_runs(planned: PlannedCase, verdict: Verdict, process: CaseProcess, times: int) -> Runs:
    """Time ``times`` single launches after a warm-up, in the process that has verified the case.

    The result is inspected after each of them.
    """
    settings = Settings(samples=times, batch_seconds=0.0, fill=planned.fill, seed=planned.seed)
    run = CandidateRun(Candidate(Arm(""), planned.kernel), TimedShape(planned.problem), planned, process, settings)
    run.verdict = verdict
    run.open()
    seconds: list[float] = []
    while run.status is None and len(seconds) < times:
        taken = run.sample()
        if taken is not None:
            seconds.append(taken)
    run.finish()
    if run.status is not None:
        return Runs(failure=run.reason)
    return Runs(tuple(seconds), tuple(run.facts.get("includes", ())))
