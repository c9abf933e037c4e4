"""Shrinking, with bugs that are functions of the problem: what is left fails, is minimal, and its neighbours pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.ops.convolution import gemms_count
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.suite.table import load_set
from bitgate.tools.fuzz.failure import FuzzFailure, is_failure, write_rows
from bitgate.tools.fuzz.shrink import Shrinker, measure, smaller
from bitgate.verify.planned import PlannedCase

BUGS = {
    "the founding one": lambda p: p.g == 1 and p.ndim == 2 and gemms_count(p) > 1 and p.op.num_d == 0,
    "K in vectors": lambda p: p.g == 1 and p.stride[0] > 1 and p.k % 8 != 0 and p.left_pad[0] > 0,
    "a full bucket": lambda p: gemms_count(p) == 32 and p.n > 1,
    "a gap behind lines of dx": lambda p: any((gap.tensor, gap.axis) == ("in", "w") for gap in p.gaps) and p.n > 1,
    "ragged": lambda p: p.input[-1] % 2 == 1 and p.output[-1] > 2 and p.dilation[-1] == 2 and p.c > 1,
}
STARTS = {
    "the founding one": "bwd_data_f32_nhwgc_g1n4k16c24_y5x3_h20x17_s3x2_d1x2_p2x1_q1x0_relu_gap",
    "K in vectors": "bwd_data_f32_gnhwc_g1n3k17c9_y3x3_h9x9_s2x1_d1x1_p1x1_q1x1",
    "a full bucket": "bwd_data_f32_ndhwgc_g3n5k7c5_y2x4x4_h9x9x9_s2x4x4_d1x1x1_p1x0x1_q1x1x1",
    "a gap behind lines of dx": "bwd_data_f32_nhwgc_g2n3k8c8_y3x3_h9x9_p1_nd1_gapinh8_gapinw8_gapweix4_gapd0h8",
    "ragged": "bwd_data_f32_nhwgc_g2n2k8c12_y3x3_h9x11_s1x1_d1x2_p1x2_q1x2_nd1",
}


def judge_of(bug):
    def judge(planned: PlannedCase) -> Verdict:
        if bug(planned.problem):
            return Verdict(planned.key, Outcome.MISMATCH, "wrong", diagnosis=Diagnosis(("other",), "wrong"))
        return Verdict(planned.key, Outcome.PASS)

    return judge


def shrink(bug, case: str):
    kernel = kernel_called(families(target="host"), "grouped_bwd_data", "f32_32x32x16_a1b1c1")
    planned, judge = PlannedCase(parse_case_id(case), kernel, seed=5, schedule="random:3"), judge_of(bug)
    return Shrinker(judge, FuzzFailure(planned, judge(planned))).run(), judge


@pytest.mark.parametrize("name", BUGS)
def test_the_rest_fails_is_minimal_and_has_passing_neighbours(name):
    shrunk, judge = shrink(BUGS[name], STARTS[name])
    assert shrunk.minimal
    assert shrunk.multiply_adds <= 1000
    assert is_failure(judge(shrunk.planned))
    assert (shrunk.planned.seed, shrunk.planned.schedule) == (0, "forward")
    for candidate in smaller(shrunk.planned):
        assert measure(candidate) < measure(shrunk.planned)
        assert not BUGS[name](candidate.problem)
    assert shrunk.neighbours
    for neighbour in shrunk.neighbours:
        assert not BUGS[name](neighbour.planned.problem)
        assert judge(neighbour.planned).outcome is Outcome.PASS


def test_neighbours_name_the_conditions():
    shrunk, _ = shrink(BUGS["K in vectors"], STARTS["K in vectors"])
    named = {neighbour.quantity: neighbour.passes for neighbour in shrunk.neighbours}
    assert named["g"] == "2"
    assert named["k"] == "8"
    assert named["stride[0]"] == "1"
    assert named["left_pad[0]"] == "0"
    assert not {"n", "c", "gap", "operation"} & set(named)


def test_the_founding_bug_shrinks_to_one_product_a_sub_gemm():
    shrunk, _ = shrink(BUGS["the founding one"], STARTS["the founding one"])
    assert shrunk.multiply_adds == 2
    assert {"g", "ndim", "operation"} <= {neighbour.quantity for neighbour in shrunk.neighbours}


def test_the_row_is_one_that_the_table_reader_takes(tmp_path):
    shrunk, _ = shrink(BUGS["ragged"], STARTS["ragged"])
    kernel = replace(shrunk.planned.kernel, options=(("bucket_size", "2"),))
    odd = replace(
        shrunk,
        planned=replace(shrunk.planned, seed=3, schedule="random:9", fill="decimal", kernel=kernel),
        verdict=replace(shrunk.verdict, diagnosis=Diagnosis(("other",), 'a "quoted" \\ sentence')),
    )
    path = tmp_path / "cases.toml"
    write_rows(path, [shrunk, odd])
    plain, other = load_set(path)
    assert plain.axes["case"] == (shrunk.planned.case,)
    assert plain.axes["kernels" if "kernels" in plain.axes else "case"]
    assert other.pin == 'MISMATCH: a "quoted" \\ sentence'
    assert other.options == {"bucket_size": ("2",)}
