"""An operation that writes two tensors: each is poisoned, guarded and compared, and a verdict says which is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.verify.row_maximum.row_maximum import FAMILY, ROW_MAXIMUM, RowMaximumProblem

from bitgate.core.errors import UsageError
from bitgate.kernel.resolved import Kernel
from bitgate.model import F32_ACCUMULATION
from bitgate.numerics.digest import digest
from bitgate.numerics.fill import plan_fill
from bitgate.numerics.reference import exact_results
from bitgate.results.record import Outcome, Verdict
from bitgate.results.record.view import wrong_cells
from bitgate.verify.diagnose import Finding, Role, Scene, diagnose
from bitgate.verify.pipeline import Dump, verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session
from bitgate.verify.stored import FILE, StoredDigest, key_of, write

CASE = RowMaximumProblem(5, 40)


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session("host", progress=lambda line: None)
    session.families = session.opened.families = {**session.families, FAMILY.name: FAMILY}
    return session


@pytest.fixture
def stored(tmp_path) -> Session:
    """A session in which the digest of CASE is stored."""
    first = Session("host", progress=lambda line: None, suites=())
    first.families = first.opened.families = {**first.families, FAMILY.name: FAMILY}
    exact = verify(plan(reference="exact"), first)
    (tmp_path / "toy").mkdir()
    assert exact.certificate
    entries = {}
    for problem in (CASE, replace(CASE, pitch=2)):
        key = key_of(plan(problem=problem).case, plan_fill(problem, F32_ACCUMULATION))
        entries[key] = StoredDigest.of(exact.digest, exact.certificate)
    write(tmp_path / "toy" / FILE, entries)
    session = Session("host", progress=lambda line: None, suites=[tmp_path])
    session.families = session.opened.families = {**session.families, FAMILY.name: FAMILY}
    return session


def plan(illness: str = "none", problem: RowMaximumProblem = CASE, **more) -> PlannedCase:
    return PlannedCase(problem, Kernel(FAMILY, FAMILY.instances[0], (("illness", illness),)), **more)


def red(session: Session, illness: str, outcome: Outcome, problem: RowMaximumProblem = CASE) -> Verdict:
    verdict = verify(plan(illness, problem), session)
    assert verdict.outcome is outcome, verdict.reason
    return verdict


def test_a_right_kernel_passes_with_a_digest_of_each_output(session) -> None:
    verdict = verify(plan(), session)
    assert (verdict.outcome, verdict.green, verdict.reference) == (Outcome.PASS, True, "exact"), verdict.reason
    instance = FAMILY.instances[0]
    expected = exact_results(CASE, session.inputs(CASE, instance, "exact", 0).tensors)
    assert verdict.digest == f"value={digest(expected['value'])},index={digest(expected['index'])}"


def test_the_second_output_alone_may_be_wrong(session) -> None:
    verdict = red(session, "last", Outcome.MISMATCH)
    assert "cells of index are wrong" in verdict.reason
    assert verdict.diagnosis
    assert verdict.diagnosis.evidence["output"] == "index"
    assert "wrong_too" not in verdict.diagnosis.evidence
    right, wrong = verify(plan(), session).digest.split(","), verdict.digest.split(",")
    assert right[0] == wrong[0]
    assert right[1] != wrong[1]
    assert (verdict.view["output"], verdict.view["axes"], verdict.view["lengths"]) == ("index", ["r"], [5])


def test_of_two_wrong_outputs_one_is_diagnosed_and_both_named(session) -> None:
    verdict = red(session, "both", Outcome.MISMATCH)
    assert "1 of 5 cells of value are wrong, within r 1" in verdict.reason
    assert verdict.diagnosis
    assert (verdict.diagnosis.evidence["output"], verdict.diagnosis.evidence["wrong_too"]) == ("value", ["index"])
    assert list(wrong_cells(verdict.view, "other")) == [(1,)]


@pytest.mark.parametrize(
    ("illness", "outcome", "words"),
    [
        ("value", Outcome.MISMATCH, "1 of 5 cells of value are wrong"),
        ("no_index", Outcome.MISMATCH, "nothing was written: every cell of index still holds the poison"),
        ("past_index", Outcome.CORRUPTED, "past the end of buffer index (20 bytes) was written"),
        ("race", Outcome.NONDETERMINISTIC, "a read of memory that was never written; 1 of 5 cells of index are wrong"),
    ],
)
def test_what_is_wrong_is_said_of_the_output_that_it_befell(session, illness, outcome, words) -> None:
    assert words in red(session, illness, outcome).reason


def test_a_cause_about_cells_is_reported_with_its_outputs_name() -> None:
    def lazy(scene: Scene[RowMaximumProblem]) -> Finding:
        return Finding("other", Role.CAUSE, 1.0, f"axis {scene.letters} is not walked", names_cells=True)

    scene = Scene(CASE, np.zeros(5, np.int32), np.arange(5, dtype=np.int32), poison=0, output="index")
    assert diagnose(scene, (lazy,)).sentence == "index: axis r is not walked"


def test_a_gap_of_the_second_output_is_guarded(session, stored) -> None:
    for way, reference in ((session, "exact"), (stored, "stored")):
        verdict = verify(plan(problem=replace(CASE, pitch=2)), way)
        assert (verdict.outcome, verdict.reference) == (Outcome.PASS, reference)
        verdict = red(way, "gap", Outcome.CORRUPTED, replace(CASE, pitch=2))
        assert "the padding between the rows of index was written (index 1 of its memory)" in verdict.reason


def test_real_numbers_are_held_to_a_bound_and_the_index_to_bits(session) -> None:
    verdict = verify(plan(fill="decimal"), session)
    assert (verdict.outcome, verdict.reference) == (Outcome.PASS, "bounds"), verdict.reason
    assert verdict.digest.startswith("index=bg1:")
    assert "," not in verdict.digest
    assert verdict.error["of_bound"] < 1
    assert verify(plan("no_index", fill="decimal"), session).outcome is Outcome.MISMATCH
    assert verify(plan("value", fill="decimal"), session).outcome is Outcome.MISMATCH


def test_an_index_of_only_zeros_is_not_the_cases_fault(session) -> None:
    verdict = verify(plan(problem=RowMaximumProblem(5, 1)), session)
    assert (verdict.outcome, verdict.shows) == (Outcome.PASS, True)


def test_one_stored_digest_covers_all_outputs_of_the_operation(stored) -> None:
    verdict = verify(plan(), stored)
    assert (verdict.outcome, verdict.reference) == (Outcome.PASS, "stored"), verdict.reason
    exact = verify(plan(reference="exact"), stored)
    assert verdict.certificate
    assert exact.certificate
    assert (verdict.digest, verdict.certificate.sensitivity) == (exact.digest, exact.certificate.sensitivity)


@pytest.mark.parametrize("illness", ["last", "value", "both", "no_index", "past_index", "race"])
def test_what_is_red_is_red_where_a_digest_is_stored(stored, illness: str) -> None:
    """Same outcome, same sentence: what the digest doubts is looked at cell by cell."""
    short, long = verify(plan(illness), stored), verify(plan(illness, reference="exact"), stored)
    assert (short.outcome, short.reason, short.green) == (long.outcome, long.reason, False)


def test_a_dump_has_a_file_for_each_output(session, tmp_path) -> None:
    verify(plan("last"), session, Dump(tmp_path))
    names = {path.stem for path in tmp_path.iterdir()}
    assert names == {"x", "result_value", "result_index", "reference_value", "reference_index"}
    values, indices = (np.load(tmp_path / f"result_{role}.npy") for role in ("value", "index"))
    assert np.array_equal(values, np.load(tmp_path / "x.npy").max(axis=1))
    assert not np.array_equal(indices, np.load(tmp_path / "reference_index.npy"))


def test_a_reference_that_forgets_an_output_is_an_error(session, monkeypatch) -> None:
    monkeypatch.setattr(
        type(ROW_MAXIMUM), "reference", lambda self, problem, inputs: {"value": inputs["x"].max(axis=1)}
    )
    with pytest.raises(UsageError, match="the reference of row_maximum: gives no index"):
        verify(plan(seed=1), session)
