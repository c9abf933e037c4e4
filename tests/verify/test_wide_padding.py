"""Offsets beyond 2^32 elements on the host: a tensor has memory for its cells alone, and verdicts are as ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import F32_ACCUMULATION, parse_case_id
from bitgate.model import memory_runs as memory_runs_of_tensors
from bitgate.model.memory_runs import memory_runs
from bitgate.numerics.fill import plan_fill
from bitgate.results.record import Outcome
from bitgate.verify import memory, pipeline
from bitgate.verify.memory import memory_shortage
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.session import Session
from bitgate.verify.stored import FILE, StoredDigest, key_of, write

DECLARATION = Path(__file__).parent / "unhealthy" / "declaration.py"
FAMILIES = families(ours().loading([DECLARATION]), "host", here=True)
CASE = "fwd_f32_nwgc_g1n3k8c4_y3_h6_p1_gapoutg2147483632"
"""y takes 136 GiB of addresses: the third of its 18 rows begins at 2^32 elements."""


SMALLER = "fwd_f32_nwgc_g1n1k8c4_y3_h6_p1_gapoutg100000"


def plan(illness: str, **more) -> PlannedCase:
    return PlannedCase(
        parse_case_id(CASE), kernel_called(FAMILIES, "unhealthy", "fwd_f32", [("illness", illness)]), **more
    )


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host", project=ours().loading([DECLARATION]), suites=())


@pytest.mark.parametrize(
    ("illness", "outcome", "words"),
    [
        ("none", Outcome.PASS, ""),
        ("wrong", Outcome.MISMATCH, "1 of 144 cells of out differ from the GPU reference, the first at (0, 0, 5, 0)"),
        ("gap", Outcome.CORRUPTED, "the padding between the rows of out was written"),
        ("past", Outcome.CRASHED, "write outside global memory: +0 past the end of buffer out"),
        ("before", Outcome.CORRUPTED, "byte 4 before buffer out was written"),
        ("idle", Outcome.MISMATCH, "144 of 144 cells of out differ"),
    ],
)
def test_each_verdict_is_that_of_a_small_tensor(session, illness, outcome, words):
    verdict = verify(plan(illness), session)
    assert (verdict.outcome, words in verdict.reason) == (outcome, True), verdict.reason


def test_a_case_that_needs_its_result_in_host_memory_is_not_tried_where_that_is_too_small(session):
    verdict = verify(plan("none", fill="special"), session)
    assert verdict.outcome is Outcome.NOT_RUN
    assert verdict.reason.startswith("the case needs about 544.0 GiB of host memory")


def test_where_a_stored_digest_differs_cells_are_compared_with_the_naive_kernel(session, tmp_path):
    right = verify(plan("none"), session)
    assert right.certificate is not None
    (tmp_path / "toy").mkdir()
    key = key_of(plan("none").case, plan_fill(plan("none").problem, F32_ACCUMULATION))
    write(tmp_path / "toy" / FILE, {key: StoredDigest.of(right.digest, right.certificate)})
    stored = Session("host", project=ours().loading([DECLARATION]), suites=[tmp_path])
    assert verify(plan("none"), stored).reference == "stored"
    wrong = verify(plan("wrong"), stored)
    assert (wrong.outcome, wrong.reference) == (Outcome.MISMATCH, "stored")
    assert wrong.reason.startswith("1 of 144 cells of out differ from the GPU reference, the first at (0, 0, 5, 0)")


def test_a_wrong_result_stays_wrong_where_the_device_has_no_room_for_its_padding(session, monkeypatch):
    """It was NOT_RUN where host memory would have held what the device could not."""
    monkeypatch.setattr(pipeline, "memory_shortage", lambda *_, **__: "")
    verdict = verify(plan("wrong"), session)
    assert (verdict.outcome, verdict.expected) == (Outcome.MISMATCH, False)
    assert verdict.reason.startswith("1 of 144 cells of out differ")


def test_an_infinite_difference_reaches_the_process_that_judges():
    """Nothing is written, so that NaN meets a number."""
    with CaseProcess(Opening(plan("idle").target, ours().loading([DECLARATION]))) as process:
        verdict = process.verify(plan("idle"), 600.0)
    assert verdict.outcome is Outcome.MISMATCH
    assert "144 of 144 cells of out differ" in verdict.reason
    assert "the largest difference is inf" in verdict.reason


@pytest.fixture
def narrower(monkeypatch):
    """Padding of a few MiB counts as wide."""
    monkeypatch.setattr(memory_runs_of_tensors, "WIDE", 1 << 20)


def test_padding_that_fits_is_no_hindrance(session, narrower):
    """No digest is stored of such data."""
    problem = parse_case_id(SMALLER)
    assert memory_runs(problem.tensors["out"]) is not None
    verdict = verify(replace(plan("none"), problem=problem, fill="special"), session)
    assert (verdict.outcome, verdict.reference) == (Outcome.PASS, "bounds")


def test_a_diagnosis_leaves_memory_to_others(monkeypatch, narrower):
    monkeypatch.setattr(memory, "SMALL", 0)
    problem = parse_case_id(SMALLER)
    needed = 4 * problem.tensors["out"].bytes + 1000
    for available, judged, fits in ((needed, False, True), (3 * needed, True, False), (4 * needed, True, True)):
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=available))  # noqa: B023
        assert (memory_shortage(problem, True, "exact", judged=judged) == "") == fits
