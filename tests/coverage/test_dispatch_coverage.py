"""Dispatch coverage: which path met what, from results and plans; one-sided thresholds and lost paths are reported."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

import pytest

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict, append
from bitgate.tools.coverage.dispatch import dispatch_coverage, format_report
from bitgate.tools.coverage.ran import RanCase, predicted, read_ran
from bitgate.verify.planned import PlannedCase

FLAT = "bwd_data_f16_nhwgc_g1n2k16c16_y3x3_h8x8_s1x1_p1x1"
SEVERAL = "bwd_data_f16_nhwgc_g2n2k16c16_y3x3_h8x8_s2x2_p1x1"
FULL = "bwd_data_f16_nhwgc_g2n1k16c16_y4x8_h8x8_s4x8"
OVER = "bwd_data_f16_nhwgc_g2n1k16c16_y3x11_h8x16_s3x11"
INSTANCE = "f16_32x32x32_a1b1c1"


@lru_cache
def known() -> dict[str, KernelFamily]:
    return families()


def ran(*cases: str) -> list[RanCase]:
    kernel = kernel_called(known(), "grouped_bwd_data", INSTANCE)
    return [one for case in cases for one in predicted(parse_case_id(case), kernel)]


def bwd_data(cases: list[RanCase]):
    (way,) = dispatch_coverage(cases, {"grouped_bwd_data": known()["grouped_bwd_data"]})
    return way


def test_a_path_that_no_case_takes_is_reported():
    way = bwd_data(ran(SEVERAL))
    assert way.unreached == ("flat",)
    assert "NO CASE takes the flat path" in format_report([way], 5)
    assert bwd_data(ran(FLAT, SEVERAL)).unreached == ()


@pytest.mark.parametrize(
    ("cases", "missing"),
    [
        ((SEVERAL, FULL), {"bucket": "sub-GEMMs beyond one bucket", "gemms_count": "one sub-GEMM"}),
        ((FLAT,), {"gemms_count": "several sub-GEMMs", "k_vector": "K with a ragged vector"}),
        ((SEVERAL, f"{FLAT}_gap"), {"even_rows": "a gap between lines or images"}),
    ],
)
def test_a_threshold_with_cases_on_one_side_is_reported(cases, missing):
    reported = {crossing.name: crossing.missing for crossing in bwd_data(ran(*cases)).one_sided}
    assert missing.items() <= reported.items()


def test_a_gap_behind_a_line_is_beyond_even_rows():
    (even,) = (c for c in bwd_data(ran(FLAT, f"{FLAT}_gap", f"{FLAT}_gapinw8")).crossings if c.name == "even_rows")
    assert (even.below.cases, even.beyond.cases, even.missing) == (2, 1, "")


def test_32_and_33_sub_gemms_stand_at_the_edge():
    (bucket,) = (c for c in bwd_data(ran(FLAT, FULL, OVER)).crossings if c.name == "bucket")
    assert bucket.missing == ""
    assert (bucket.below.nearest, bucket.beyond.nearest) == (0, 1)


def test_what_a_path_met_is_counted_by_class():
    way = bwd_data(ran(FLAT, SEVERAL))
    assert way.met["flat"]["gemms_count"] == {"1 dense": 1}
    assert way.met["grouped"]["g"] == {"2": 1}
    unmet = {(one.path, one.factor, one.cls) for one in way.unmet}
    assert ("flat", "gcd", "divides") in unmet
    assert ("flat", "gemms_count", "2-8") not in unmet  # the flat path cannot


def test_an_option_that_moves_a_threshold_reaches_its_far_side():
    split = {c.name: c.missing for c in bwd_data(ran(FLAT)).one_sided}["split_n"]
    assert split == "images in several chunks"


def test_results_and_plans_are_read_alike(tmp_path, capsys):
    problem = parse_case_id(SEVERAL)
    planned = PlannedCase(problem, kernel_called(known(), "grouped_bwd_data", INSTANCE))
    said = {"path": "grouped", "gemms_count": 4, "launches": 1, "buckets": 1, "split_k": 1, "zero_fill": True}
    results = tmp_path / "results.jsonl"
    append(results, Verdict(planned.key, Outcome.PASS, dispatch=said))
    append(results, Verdict(replace(planned, seed=1).key, Outcome.CRASHED))
    (one,) = read_ran([results], known()).ran
    assert (one.path, one.gemms_count, one.problem) == ("grouped", 4, problem)

    code = run(["cases", "--tier", "smoke", "--target", "host", "--kernel", "grouped_bwd_data.f16*", "--json"])
    plan = tmp_path / "plan.json"
    plan.write_text(capsys.readouterr().out)
    assert code == 0
    assert run(["coverage", "--dispatch", str(plan), "--dispatch", str(results), "--json"]) == 0
    (way,) = (w for w in json.loads(capsys.readouterr().out)["dispatch"] if w["kernel"] == "grouped_bwd_data")
    assert set(way["paths"]) == {"flat", "grouped"}
    assert way["unreached_paths"] == []


def test_a_file_that_is_neither_is_an_error(tmp_path):
    other = tmp_path / "other.json"
    other.write_text("{}")
    with pytest.raises(UsageError, match=r"neither a .* nor a plan"):
        read_ran([other], known())


def test_cases_of_kernels_that_nobody_knows_are_counted_apart(tmp_path, capsys):
    """An owner's records, read where their operation is not loaded."""
    results, planned = (
        tmp_path / "results.jsonl",
        PlannedCase(parse_case_id(SEVERAL), kernel_called(known(), "grouped_bwd_data", INSTANCE)),
    )
    said = {"path": "rows", "launches": 1, "zero_fill": False}
    append(results, Verdict(planned.key, Outcome.PASS, dispatch=said))
    theirs = json.loads(results.read_text()) | {"case": "topk_f32_r4c9", "kernel": "topk", "instance": "rows"}
    only = tmp_path / "only.jsonl"
    only.write_text(json.dumps(theirs))
    assert run(["coverage", "--dispatch", str(only)]) == 2
    assert "no kernel of these cases is known here; name their declarations in BITGATE_LOAD" in capsys.readouterr().err
    assert run(["coverage", "--dispatch", str(only), "--dispatch", str(results)]) == 0
    assert capsys.readouterr().out.endswith("left out: 1 cases of kernels that are unknown here: topk.rows\n")


def test_a_case_that_cannot_be_read_is_named(tmp_path):
    results, planned = (
        tmp_path / "results.jsonl",
        PlannedCase(parse_case_id(SEVERAL), kernel_called(known(), "grouped_bwd_data", INSTANCE)),
    )
    append(results, Verdict(planned.key, Outcome.PASS, dispatch={"path": "x", "launches": 1, "zero_fill": False}))
    results.write_text(results.read_text().replace(planned.case, "topk_f32_r4c9"))
    with pytest.raises(UsageError, match=r"results.jsonl: case 'topk_f32_r4c9': starts with none of"):
        read_ran([results], known())
