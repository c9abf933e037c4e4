"""What launches with one condition changed show of a wrong result."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitgate.core.project import ours
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict, to_event
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening, found_wrong
from bitgate.verify.session import Session

FOLDER = Path(__file__).parent
FAULTS, UNHEALTHY = (FOLDER / name / "declaration.py" for name in ("fault_injected", "unhealthy"))
CASE = "fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1"


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host", project=ours().loading([FAULTS, UNHEALTHY]))


def found(session: Session, family: str, instance: str, option: tuple[str, str]) -> Verdict:
    kernel = kernel_called(session.families, family, instance, [option])
    return verify(PlannedCase(parse_case_id(CASE), kernel), session)


@pytest.mark.parametrize(
    ("value", "memory"), [("scratch", "the workspace"), ("lds", "LDS, or memory of the library itself,")]
)
def test_memory_that_the_result_depends_on(session: Session, value: str, memory: str) -> None:
    verdict = found(session, "fault_injected", "f32", ("trusts", value))
    assert verdict.outcome is Outcome.NONDETERMINISTIC
    words = f"the result depends on what {memory} held before the launch: with zeros there every cell is right; "
    assert verdict.reason.startswith(words)
    assert verdict.diagnosis
    assert verdict.reason == verdict.diagnosis.sentence
    assert verdict.diagnosis.kinds[0] == "race"
    assert "a race" not in verdict.reason


def test_a_shuffle_from_a_lane_that_is_not_there(session: Session) -> None:
    verdict = found(session, "fault_injected", "f32", ("trusts", "lane"))
    assert verdict.outcome is Outcome.MISMATCH
    assert "memory beyond a tensor, or a lane that takes no part in a shuffle); " in verdict.reason
    assert verdict.reason.endswith(
        "; zeros in the result, the workspace and LDS make no cell right: NaN can be computed, too (inf - inf, 0 / 0)"
    )


def test_a_library_that_remembers_its_first_result(session: Session) -> None:
    verdict = found(session, "unhealthy", "fwd_f32", ("illness", "cached"))
    assert verdict.outcome is Outcome.MISMATCH
    words = "the wrong cells hold the results of launch 1 (seed 0): the library remembers them; launch 3 of the same"
    assert verdict.reason.startswith(words)


def test_a_cell_that_does_not_come_from_products(session: Session) -> None:
    verdict = found(session, "unhealthy", "fwd_f32", ("illness", "wrong"))
    rest = "1 of 288 cells of y are wrong, within k 5, h 0, w 0"
    assert verdict.reason == f"with all operands 0, y(0,0,5,0,0) holds 77777, not 0; {rest}"


def test_a_wrong_result_stays_wrong_when_its_diagnosis_raises(session: Session) -> None:
    """A division by 0 in a probe made an INFRA of a proven MISMATCH."""
    verdict = found_wrong(to_event(found(session, "unhealthy", "fwd_f32", ("illness", "wrong"))), "it raised")
    assert verdict is not None
    assert verdict.outcome is Outcome.MISMATCH
    assert verdict.reason.endswith("what they have in common is not known, the diagnosis broke off: it raised")


def test_a_library_that_keeps_something_of_an_earlier_case(session: Session) -> None:
    """It counts its launches, and is wrong from the third on."""
    kernel = kernel_called(session.families, "unhealthy", "fwd_f32", [("illness", "third")])
    first, second = (PlannedCase(parse_case_id(case), kernel, repeated=False) for case in (CASE, f"{CASE}_d2"))
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY]))) as process:
        assert process.verify(first).outcome is Outcome.PASS
        verdict = process.verify(second)
        assert verdict.outcome is Outcome.MISMATCH
        words = f"the library keeps something of an earlier case ({first.case}): in a new process every cell is right"
        assert verdict.reason.startswith(words)


def test_a_crash_that_an_earlier_case_is_to_blame_for(session: Session) -> None:
    """The library writes out of bounds from its third launch on: the first two are those of another case."""
    kernel = kernel_called(session.families, "unhealthy", "fwd_f32", [("illness", "later")])
    first, second = (PlannedCase(parse_case_id(case), kernel, repeated=False) for case in (CASE, f"{CASE}_d2"))
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY]))) as process:
        assert process.verify(first).outcome is Outcome.PASS
        verdict = process.verify(second)
    assert verdict.outcome is Outcome.CRASHED
    words = f"the library keeps something of an earlier case ({first.case}): in a new process all is right; "
    assert verdict.reason.startswith(words)
    assert "past the end of buffer out" in verdict.reason


def test_a_crash_that_recurs_in_a_new_process(session: Session) -> None:
    kernel = kernel_called(session.families, "unhealthy", "fwd_f32", [("illness", "past")])
    first, second = (PlannedCase(parse_case_id(case), kernel, repeated=False) for case in (CASE, f"{CASE}_d2"))
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY]))) as process:
        assert process.verify(first).outcome is Outcome.CRASHED
        assert "earlier case" not in process.verify(second).reason


def test_a_crash_leaves_no_written_padding(session: Session) -> None:
    """Outputs of a launch that was ended were never copied: what the judge's memory holds there is its own poison."""
    kernel = kernel_called(session.families, "unhealthy", "fwd_f32", [("illness", "past")])
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY]))) as process:
        verdict = process.verify(PlannedCase(parse_case_id(f"{CASE}_gap"), kernel))
    assert verdict.outcome is Outcome.CRASHED
    assert "padding" not in verdict.reason
