"""A number of runs of a case that has passed: timed, or why not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bitgate.core.project_file import find
from bitgate.kernel.loading import to_load
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.tools.bench.runs import timed_runs
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.selection import candidates

CHANGING = Path(__file__).parent / "changing" / "declaration.py"
PROJECT = find().loading(to_load([CHANGING]))
PROBLEM = parse_case_id("fwd_f32_nhwgc_g1n1k8c8_y3_h8_p1")


def planned(**options: str) -> PlannedCase:
    (kernel,) = candidates("changing.second", options, "host", PROJECT)
    return PlannedCase(PROBLEM, kernel)


@pytest.fixture
def process() -> Iterator[CaseProcess]:
    with CaseProcess(Opening("host", PROJECT)) as opened:
        yield opened


def test_as_many_runs_as_asked_for(process: CaseProcess) -> None:
    case = planned()
    runs = timed_runs(case, process.verify(case), process, 4)
    assert (len(runs.seconds), runs.failure) == (4, "")
    assert all(seconds > 0 for seconds in runs.seconds)


@pytest.mark.parametrize(("harm", "failure"), [("wrong", "the result's digest is"), ("abort", "SIGABRT")])
def test_what_goes_wrong_while_it_is_timed_has_no_time(process: CaseProcess, harm: str, failure: str) -> None:
    """Verified right, and wrong from its 9th launch on."""
    case = planned(harm=harm, **{"from": "9"})
    verdict = process.verify(case)
    assert verdict.outcome is Outcome.PASS
    runs = timed_runs(case, verdict, process, 20)
    assert runs.seconds == ()
    assert failure in runs.failure
