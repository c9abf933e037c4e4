"""Split reductions of backward weight: the same bits however they are split where sums are exact, and an error that
grows with the slices where they are not."""

from __future__ import annotations

import pytest

from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

SHAPE = "nhwgc_g2n4k32c32_y3x3_h14x14_p1x1"
F32 = (("grouped_bwd_weight", "f32_32x32x16_a1b1c1"), ("bwd_weight_two_stage", "f32_32x32x16_a1b1c1"))
BF16 = ("grouped_bwd_weight", "bf16_64x32x32_a4b4c4")
BF16_TWO_STAGE = ("bwd_weight_two_stage", "bf16_128x64x32_a8b8c8_d2")


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host")


def run(session: Session, kernel: tuple[str, str], split: str, fill: str = "exact") -> Verdict:
    dtype = kernel[1].partition("_")[0]
    problem = parse_case_id(f"bwd_weight_{dtype}_{SHAPE}{split and '_' + split}")
    return verify(PlannedCase(problem, kernel_called(session.families, *kernel), fill=fill), session)


@pytest.mark.parametrize("split", ["", "sk2", "sk3", "sk7", "sk128", "skauto"])
def test_slices_added_in_workspace_or_result_have_one_digest(session: Session, split: str) -> None:
    unsplit = run(session, F32[0], "")
    verdicts = {kernel: run(session, kernel, split) for kernel in F32}
    found = {kernel: (verdict.outcome, verdict.digest) for kernel, verdict in verdicts.items()}
    assert found == dict.fromkeys(F32, (Outcome.PASS, unsplit.digest))
    assert [kernel for kernel, v in verdicts.items() if not (v.certificate and v.certificate.holds)] == []


def test_slices_added_in_bf16_are_certified_exact_up_to_256(session: Session) -> None:
    ranges = {split: run(session, BF16, split).certificate for split in ("", "sk2", "sk64")}
    assert {split: found and found.exact_range for split, found in ranges.items()} == {
        "": 2**24,
        "sk2": 256,
        "sk64": 256,
    }
    assert all(found and found.holds and found.bound <= found.exact_range for found in ranges.values())


def test_the_error_of_decimals_grows_with_slices_added_in_bf16(session: Session) -> None:
    verdicts = [run(session, BF16, split, "decimal") for split in ("", "sk4", "sk16")]
    assert all(verdict.outcome is Outcome.PASS for verdict in verdicts)
    one, four, sixteen = (verdict.error["rms"] for verdict in verdicts)
    assert one < four < sixteen
    # A workspace in f32 is rounded once, at its end: nothing grows.
    two_stage = [run(session, BF16_TWO_STAGE, split, "decimal").error["rms"] for split in ("", "sk16")]
    assert two_stage[1] == pytest.approx(two_stage[0], rel=0.05)
