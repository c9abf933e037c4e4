"""Alpha, beta and D: how case ids spell them, where D's cells lie, and what a smaller problem keeps of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from tests.model.strategies import problems
from tests.problems import convolution, gemm

from bitgate.model import ELEMENTWISE, ProblemError, case_id, parse_case_id
from bitgate.model.elementwise import factor_of, factor_word

FWD = "fwd_f16_nhwgc_g2n3k8c4_y1_h4"


@pytest.mark.parametrize(
    ("value", "word"), [(0.0, "0"), (1.2, "1p2"), (-1.0, "m1"), (0.5, "0p5"), (-0.1, "m0p1"), (123456.0, "123456")]
)
def test_a_factor_in_a_case_id(value, word):
    assert (factor_word(value), factor_of(word)) == (word, value)


def test_factors_that_an_operation_has_anyway_are_left_out():
    problem = convolution(f"{FWD}_bilinear_a2_bm1")
    assert (problem.op.alpha, problem.op.beta) == (2.0, -1.0)
    assert case_id(problem).endswith("_bilinear_bm1")
    assert convolution(f"{FWD}_bilinear_bm0").op == convolution(f"{FWD}_bilinear_b0").op


def test_a_kernel_gets_the_factors_as_attributes():
    attributes = gemm("gemm_f16_m8n8k8_bilinear_a1p2_b0").attributes
    assert (attributes["op"], attributes["alpha"], attributes["beta"]) == ("bilinear", 1.2, 0.0)


def test_d_has_a_layout_a_type_and_broadcast_axes_of_its_own():
    d = convolution(f"{FWD}_nd1_dlgnhwk_dtf32_dbhn").tensors["d0"]
    assert (d.layout, d.dtype.name, d.lengths) == ("gnhwk", "f32", (2, 3, 8, 4, 4))
    assert d.strides == (32, 0, 1, 0, 8)  # g, n, k, h, w
    assert gemm("gemm_f16_b2m3n5k7_nd1_dlc").tensors["d0"].strides == (15, 1, 3)
    assert gemm("gemm_f16_b2m3n5k7_bias_dtbf16").tensors["d0"].strides == (5, 0, 1)
    assert gemm("gemm_f16_b2m3n5k7_nd1_dbbmn").tensors["d0"].space == 1


def test_the_form_of_d_has_one_spelling():
    assert case_id(convolution(f"{FWD}_nd1_dlnhwgk_dtf16")).endswith("_nd1")  # as the result
    assert case_id(convolution(f"{FWD}_nd1_dbwn_dtf32")).endswith("_nd1_dtf32_dbnw")  # the order of g, n, k, h, w


def test_d_may_have_gaps_only_after_rows_that_it_has():
    assert gemm("gemm_f16_b2m3n5k7_nd1_dbm_gapdn2").tensors["d0"].strides == (7, 0, 1)
    with pytest.raises(ProblemError, match="tensor d has no axis 'm'"):
        gemm("gemm_f16_b2m3n5k7_nd1_dbm_gapdm2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{FWD}_a2", "alpha = 2: pass takes none, scale, bilinear, inplace do"),
        (f"{FWD}_nd1_b2", "beta = 2: nd1 takes none, bilinear, inplace do"),
        (f"{FWD}_bilinear_a1_a2", "'a2' is not a part of a case id"),
        (f"{FWD}_bilinear_a1234567", "'a1234567' is not a part of a case id"),
        (f"{FWD}_scale_dtf32", "dtf32: a form of D, and scale reads none"),
        (f"{FWD}_inplace_dlgnhwk", "dlgnhwk: a form of D, and it is the result's buffer"),
        (f"{FWD}_bias_dbn", "dbn: bias says how D lies; nd1 takes any layout and axes"),
        (f"{FWD}_nd1_dlnhwgc", "dlnhwgc: the layouts of D are nhwgk, gnhwk, ngkhw"),
        (f"{FWD}_nd1_dtf64", "dtf64: the sums of a result of f16 do not hold such a D"),
        (f"{FWD}_nd1_dtf17", "'dtf17' is not a part of a case id"),
        (f"{FWD}_nd1_dbc", "dbc: name each axis of gnkhw at most once"),
        (f"{FWD}_nd1_dbnn", "dbnn: name each axis of gnkhw at most once"),
    ],
)
def test_what_is_impossible_is_refused_with_the_reason(text, message):
    with pytest.raises(ProblemError, match=re.escape(message)):
        parse_case_id(text)


def test_a_factor_with_more_digits_than_an_id_holds_is_refused():
    with pytest.raises(ProblemError, match="at most 6 digits before the point and 9 after it"):
        ELEMENTWISE["scale"].with_factors({"alpha": 1 / 3})


@given(problems())
def test_smaller_and_nearby_problems_have_ids_that_round_trip(problem):
    space = problem.operation.space
    for other in (*space.smaller(problem), *(near.problem for near in space.nearby(problem))):
        assert parse_case_id(case_id(other)) == other


def test_a_shrink_takes_factors_and_the_form_of_d_away_one_by_one():
    problem = gemm("gemm_f16_m8n8k8_bilinear_a1p2_bm1_dtf32_dbm")
    smaller = {case_id(one).removeprefix("gemm_f16_rcr_b1m8n8k8_") for one in problem.operation.space.smaller(problem)}
    assert {
        "bilinear_bm1_dtf32_dbm",
        "bilinear_a1p2_dtf32_dbm",
        "bilinear_a1p2_bm1_dbm",
        "bilinear_a1p2_bm1_dtf32",
    } <= smaller


def test_another_operation_keeps_of_d_what_it_can():
    problem = gemm("gemm_f16_m8n8k8_nd1_dtf32_dbm")
    assert case_id(problem.changed(op=ELEMENTWISE["bias"])).endswith("_bias_dtf32")
    assert case_id(problem.changed(op=ELEMENTWISE["relu"])).endswith("_relu")
