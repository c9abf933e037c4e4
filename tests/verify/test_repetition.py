"""A case that runs several times has one verdict: red if any run of it is, with the number of those."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict, verdict_on
from bitgate.runtime.targets import named
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.repetition import Repetition

UNHEALTHY = Path(__file__).parent / "unhealthy" / "declaration.py"
PROJECT = ours().loading([UNHEALTHY])
PASS, MISMATCH, CRASHED, NOT_RUN = Outcome.PASS, Outcome.MISMATCH, Outcome.CRASHED, Outcome.NOT_RUN


def planned(illness: str) -> PlannedCase:
    kernel = kernel_called(families(PROJECT, "host", here=True), "unhealthy", "fwd_f32", [("illness", illness)])
    return PlannedCase(parse_case_id("fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1"), kernel, repeated=False)


def judged(outcomes: Sequence[Outcome], until_red: bool = False) -> tuple[Verdict, int]:
    """The verdict of a case whose runs end so, and how many of them there were."""
    coming = iter(outcomes)
    left: list[int] = []

    def once(more: int) -> Verdict:
        left.append(more)
        outcome = next(coming)
        return verdict_on(planned("none"), named("host"), outcome, "" if outcome is PASS else "so it was")

    return Repetition(len(outcomes), until_red).verdict(once), len(left)


@pytest.mark.parametrize(
    ("outcomes", "outcome", "words"),
    [
        ((PASS, PASS, PASS), PASS, ""),
        ((PASS, MISMATCH, PASS, MISMATCH), Outcome.NONDETERMINISTIC, "red in 2 of 4 repeats: so it was"),
        ((PASS, PASS, CRASHED), CRASHED, "red in 1 of 3 repeats: so it was"),
        ((MISMATCH, MISMATCH), MISMATCH, "so it was"),
    ],
)
def test_some_red_runs_are_counted(outcomes: Sequence[Outcome], outcome: Outcome, words: str) -> None:
    verdict, ran = judged(outcomes)
    assert (verdict.outcome, verdict.reason, ran) == (outcome, words, len(outcomes))


def test_it_stops_at_the_first_red_run() -> None:
    verdict, ran = judged((PASS, CRASHED, PASS, PASS), until_red=True)
    assert (verdict.outcome, ran) == (CRASHED, 2)
    assert verdict.reason == "red in repeat 2 of 4, where it stopped: so it was"


def test_what_is_not_launched_is_asked_once() -> None:
    assert judged((NOT_RUN, NOT_RUN))[1] == 1


def test_a_kernel_that_is_wrong_later_is_red() -> None:
    with CaseProcess(Opening("host", PROJECT)) as once:
        assert once.verify(planned("third")).outcome is PASS
    with CaseProcess(Opening("host", PROJECT, repetition=Repetition(2))) as twice:
        verdict = twice.verify(planned("third"))
        assert verdict.outcome is Outcome.NONDETERMINISTIC
        assert verdict.reason.startswith("red in 1 of 2 repeats: ")
        assert verdict.repro.endswith(" --repeat 2")
        assert verdict.diagnosis is not None
        assert verdict.diagnosis.sentence.startswith("red in 1 of 2 repeats: ")
        assert twice.verify(planned("none")).outcome is PASS
