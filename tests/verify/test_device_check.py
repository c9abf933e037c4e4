"""Green without a reference in host memory: stored digests, the naive kernel on the device, the checksum identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import F32_ACCUMULATION, parse_case_id
from bitgate.numerics.fill import plan_fill
from bitgate.results.record import Outcome, Verdict, from_event, to_event
from bitgate.verify import pipeline
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session
from bitgate.verify.stored import FILE, StoredDigest, key_of, read, write

DECLARATION = Path(__file__).parent / "unhealthy" / "declaration.py"
FAMILIES = families(ours().loading([DECLARATION]), "host", here=True)
CASE = "fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1"
OTHER_DIGEST = "bg1:" + "0" * 32


def plan(illness: str = "none", case: str = CASE, **more) -> PlannedCase:
    return PlannedCase(
        parse_case_id(case), kernel_called(FAMILIES, "unhealthy", "fwd_f32", [("illness", illness)]), **more
    )


@pytest.fixture(scope="module")
def exact() -> Verdict:
    """What the exact CPU reference says."""
    return verify(plan(reference="exact"), Session("host", project=ours().loading([DECLARATION]), suites=()))


@pytest.fixture
def book(tmp_path: Path, exact: Verdict) -> Callable[..., Session]:
    """A session with one suite, in which the digest of CASE is stored: the right one, or another."""

    def open_book(digest: str = exact.digest, **more) -> Session:
        fills = plan_fill(parse_case_id(CASE), F32_ACCUMULATION)
        assert exact.certificate is not None
        entry = replace(StoredDigest.of(exact.digest, exact.certificate), digest=digest)
        (tmp_path / "toy").mkdir(exist_ok=True)
        write(tmp_path / "toy" / FILE, {key_of(plan().case, fills): entry})
        return Session("host", project=ours().loading([DECLARATION]), suites=[tmp_path], **more)

    return open_book


def test_a_stored_digest_is_all_that_a_green_case_needs(book, exact):
    session = book()
    verdict = verify(plan(), session)
    assert (verdict.outcome, verdict.reference, verdict.digest) == (Outcome.PASS, "stored", exact.digest)
    assert verdict.certificate == exact.certificate
    assert verdict.fingerprint["guards"] == "both"
    assert verdict.seconds["kernel"] > 0
    assert from_event(to_event(verdict)) == verdict


UNHEALTHY = ("wrong", "idle", "past", "before", "input", "race", "fail", "record")


@pytest.mark.parametrize("illness", UNHEALTHY)
def test_what_is_red_is_red_by_every_way(book, illness):
    """Same outcome, same diagnosis, same sentence: the host-side check decides."""
    by_reference = verify(plan(illness, reference="exact"), book())
    for way in (verify(plan(illness), book()), verify(plan(illness, reference="gpu"), book())):
        assert (way.outcome, way.reason) == (by_reference.outcome, by_reference.reason)
        assert not way.green


def test_a_written_gap_is_seen_on_the_device(book):
    case = CASE + "_gap"
    for reference in ("exact", "gpu"):
        verdict = verify(plan("gap", case, reference=reference), book())
        assert verdict.outcome is Outcome.CORRUPTED
        assert "the padding between the rows of out was written (index 8 of its memory)" in verdict.reason


def test_a_wrong_stored_digest_is_no_finding_about_the_kernel(book, exact):
    verdict = verify(plan(), book(OTHER_DIGEST))
    assert verdict.outcome is Outcome.INFRA
    assert not verdict.green
    assert verdict.reason.startswith("the stored digest is not the reference's: ")
    assert f"says {OTHER_DIGEST}, the exact reference gives {exact.digest}" in verdict.reason
    assert "bitgate cases --update-digests" in verdict.reason
    wrong = verify(plan("wrong"), book(OTHER_DIGEST))
    assert wrong.outcome is Outcome.MISMATCH


def test_reference_exact_does_not_ask_what_is_stored(book):
    verdict = verify(plan(reference="exact"), book(OTHER_DIGEST))
    assert (verdict.outcome, verdict.reference) == (Outcome.PASS, "exact")


def test_other_data_have_no_stored_digest(book):
    for other in (plan(seed=1), plan(case=CASE.replace("h6", "h7"))):
        assert verify(other, book(OTHER_DIGEST)).reference == "exact"


def test_a_stale_file_is_refused(book, tmp_path):
    session = book()
    path = tmp_path / "toy" / FILE
    path.write_text(path.read_text().replace('"generator": 1', '"generator": 0'))
    with pytest.raises(UsageError, match=r"stale: made by generator 0.*--update-digests"):
        verify(plan(), session)
    path.write_text("{}")
    with pytest.raises(UsageError, match="holds no stored digests"):
        read(path)


def test_the_file_is_sorted_and_has_one_line_a_digest(tmp_path):
    entries = {f"case{i} seed=0 in=1": StoredDigest(OTHER_DIGEST, i, 1.0, 0.5, "why") for i in (3, 1, 2)}
    write(tmp_path / FILE, entries)
    lines = (tmp_path / FILE).read_text().splitlines()
    assert [line[:7] for line in lines[1:-1]] == ['"case1 ', '"case2 ', '"case3 ']
    assert {key: entry.line for key, entry in read(tmp_path / FILE).items()} == {
        key: entry.line for key, entry in entries.items()
    }
    write(tmp_path / FILE, {})
    assert not (tmp_path / FILE).exists()


def test_the_device_reference_gives_the_cpus_digest(book, exact):
    verdict = verify(plan(reference="gpu"), book())
    assert (verdict.outcome, verdict.reference, verdict.digest) == (Outcome.PASS, "gpu", exact.digest)
    assert verdict.certificate
    assert exact.certificate
    assert verdict.certificate.holds
    assert verdict.certificate.bound >= exact.certificate.bound


@pytest.mark.parametrize("family", ["unhealthy", "naive_conv"])
def test_large_cases_are_held_to_the_checksum(book, exact, family):
    """Large by the option that lowers the threshold; naive kernels are not held to themselves."""
    session = book(OTHER_DIGEST, large_bytes=1024)
    planned = replace(plan(seed=5), kernel=kernel_called(FAMILIES, family, "fwd_f32"))
    verdict = verify(planned, session)
    assert verdict.outcome is Outcome.PASS
    assert verdict.reference == ("gpu+checksum" if family == "unhealthy" else "checksum")


def test_the_checksum_alone_finds_a_wrong_cell(book):
    """Where the host-side check lacks memory, the device reports what it knows."""
    verdict = verify(plan("wrong", seed=5, reference="checksum"), book())
    assert verdict.outcome is Outcome.MISMATCH


@pytest.mark.parametrize(
    ("illness", "reference", "outcome", "words"),
    [
        (
            "wrong",
            "gpu",
            Outcome.MISMATCH,
            "1 of 288 cells of out differ from the GPU reference, the first at (0, 0,",
        ),
        ("wrong", "checksum", Outcome.MISMATCH, "the checksum identity does not hold: the result sums to"),
        ("wrong", "auto", Outcome.MISMATCH, "the result's digest is bg1:"),
        ("input", "gpu", Outcome.CORRUPTED, "input in was changed"),
        ("before", "gpu", Outcome.CORRUPTED, "byte 4 before buffer out was written"),
    ],
)
def test_a_result_too_large_for_the_host_is_judged_on_device(book, monkeypatch, illness, reference, outcome, words):
    monkeypatch.setattr(pipeline, "memory_shortage", lambda *of, **more: "no room")
    verdict = verify(plan(illness, reference=reference), book())
    assert verdict.outcome is outcome
    assert words in verdict.reason
    assert verdict.diagnosis
    assert verdict.diagnosis.evidence["not_diagnosed"] == "no room"
    if reference == "gpu" and illness == "wrong":
        (cell,) = verdict.diagnosis.evidence["first_wrong_cells"]
        assert (cell["at"], cell["result"]) == ([0, 0, 5, 0, 0], 77777)


def test_a_case_that_the_device_cannot_hold_is_not_run(book):
    session = book()
    host = session.opened.device.host
    assert host is not None
    host.set_total_memory(205 << 20)  # of which tests before this one, in the same process, may hold a little
    try:
        case = "fwd_f32_nhwgc_g1n4k2c64_y1_h512"
        verdict = verify(plan(case=case, reference="gpu"), session)
    finally:
        host.set_total_memory(0)
    assert (verdict.outcome, verdict.green) == (Outcome.NOT_RUN, True)
    assert verdict.reason == "the case needs 0.26 GiB of device memory, 0.20 GiB are free"


def test_a_case_the_checksum_cannot_verify_is_a_usage_error(book):
    with pytest.raises(UsageError, match="no checksum: the operation relu is no part of the identity"):
        verify(plan(case=CASE + "_relu", reference="checksum"), book())
