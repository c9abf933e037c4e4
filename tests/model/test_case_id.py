"""Case ids: every problem has one spelling, which round-trips; what may be left out; what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from tests.model.strategies import problems
from tests.problems import convolution

from bitgate.model import DtypeSet, ProblemError, case_id, human, parse_case_id


@given(problems())
def test_round_trip(problem):
    text = case_id(problem)
    assert parse_case_id(text) == problem
    assert re.fullmatch("[a-z0-9_]+", text)


@given(problems())
def test_human_form_names_the_sizes(problem):
    text = human(problem)
    assert f"G={problem.g} N={problem.n} K={problem.k} C={problem.c}" in text
    assert ("sub-GEMM" in text) == (problem.direction.value == "bwd_data")


@pytest.mark.parametrize(
    "text",
    [
        "fwd_f16_nhwgc_g1n16k256c128_y5x5_h40x175_s2x2_d1x1_p1x1_q1x1",
        "bwd_data_bf16_f32_bf16_gnhwc_gkcyx_g1n16k256c128_y5x5_h40x175_s2x2_d1x1_p1x1_q1x1_nd1_gap_sk4",
        "bwd_weight_f16_ctf8ocp_ndhwgc_g2n1k8c8_y3x3x3_h5x5x5_s1x1x1_d1x1x1_p1x1x1_q1x1x1_scale_gapinw8_skauto",
        "bwd_weight_f16_ctinf8ocp_ctoutbf8ocp_nhwgc_g1n1k8c8_y1x1_h4x4_s1x1_d1x1_p0x0_q0x0",
        "gemm_f16_ctweif8fnuz_rcr_b2m64n64k32",
        "fwd_i8_nwgc_g1n1k8c8_y3_h5_s1_d1_p0_q1_bilinear_a1p2_bm1_dlgnwk_dtf32_dbnw",
        "fwd_f32_ngchw_g1n1k8c8_y3x3_h5x5_s1x1_d1x1_p0x0_q0x0_bias_inscale_weirelu_gapinh8_gapd0k4",
        "gemm_f16_rcr_b2m64n64k32_bilinear_b0_dlc_dtbf16_dbm",
        "softmax_f16_r64c1000_full",
        "attention_f16_b2h8kv2s512t512d64_causal",
    ],
)
def test_each_kind_of_word_has_one_spelling(text):
    assert case_id(parse_case_id(text)) == text


def test_defaults_may_be_left_out_and_scalars_spread():
    short = parse_case_id("bwd_data_f16_nhwgc_n4k128c64_y3_h28_s3_p1")
    assert case_id(short) == "bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_d1x1_p1x1_q1x1"
    assert human(short) == "bwd_data f16 NHWGC G=1 N=4 K=128 C=64 3x3 28x28 s3 p1 -> 9 sub-GEMMs"


def test_operands_have_operations_of_their_own():
    problem = convolution("fwd_f16_nhwgc_n1k8c8_y1_h4_bias_inscale_weirelu_gap")
    assert (problem.op.name, problem.in_op.name, problem.wei_op.name) == ("bias", "scale", "relu")
    assert "bias inscale weirelu strided" in human(problem)
    assert convolution("bwd_weight_f16_nhwgc_n1k8c8_y1_h4_inrelu").operation_of("out").name == "pass"


@pytest.mark.parametrize(
    ("stated", "canonical"),
    [
        ("f16_ctinf8ocp_ctweif8ocp", "f16_ctf8ocp"),
        ("f16_ctweif8ocp_ctinbf8ocp", "f16_ctinbf8ocp_ctweif8ocp"),
        ("f16_ctf8ocp_ctinbf8ocp", "f16_ctinbf8ocp_ctweif8ocp"),
        ("f16_ctinf16", "f16"),
        ("f16_ctf32_ctinf16", "f16_ctweif32"),
        ("bf16_f32_bf16_ctweif32", "bf16_f32_bf16_ctweif32"),
        ("f8ocp_ctweibf8ocp", "f8ocp_ctweibf8ocp"),  # a compute type would leave an 8-bit operand as it is
        ("f8ocp_f16_f16_ctweibf8ocp", "f8ocp_f16_f16_ctbf8ocp"),
        ("f16_ctf16", "f16_ctf16"),
    ],
)
def test_one_compute_type_is_stated_where_it_says_all(stated, canonical):
    problem = convolution(f"fwd_{stated}_nhwgc_n1k8c8_y1_h4")
    assert case_id(problem).startswith(f"fwd_{canonical}_nhwgc_")
    types = DtypeSet.parse(stated)
    assert all(problem.multiplicand(role) == types.multiplicand(role) for role in problem.operands)


def test_the_layout_may_be_left_out():
    assert parse_case_id("fwd_f32_n1k8c8_y3x3x3_h5x5x5").layout == "ndhwgc"
    assert parse_case_id("fwd_f32_n1k8c8_y3_h5").layout == "nwgc"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("conv_f16_nhwgc_g1n1k8c8_y1_h4", "starts with none of attention, attention_bwd, fwd, bwd_data"),
        ("fwd_f17_nhwgc_g1n1k8c8_y1_h4", "one dtype or three"),
        ("fwd_f16_f16_nhwgc_g1n1k8c8_y1_h4", "one dtype or three"),
        ("fwd_f16_ctinf17_nhwgc_g1n1k8c8_y1_h4", "unknown dtype 'f17'"),
        ("fwd_f16_ctf8ocp_ctf8ocp_nhwgc_g1n1k8c8_y1_h4", "a compute type stands twice"),
        ("fwd_f16_ctoutf8ocp_nhwgc_g1n1k8c8_y1_h4", "ctoutf8ocp: 'out' is written here, not multiplied"),
        ("bwd_data_f16_ctinf8ocp_nhwgc_g1n1k8c8_y1_h4", "ctinf8ocp: 'in' is written here, not multiplied"),
        ("gemm_f16_ctoutf8ocp_rcr_m4n4k4", "ctoutf8ocp: 'out' is written here, not multiplied"),
        ("softmax_f16_ctinf8ocp_r64c1000", "found 'ctinf8ocp'"),
        ("fwd_f16_nchw_g1n1k8c8_y1_h4", "unknown layout 'nchw'"),
        ("fwd_f16_nhwgc_g1k8c8n1_y1_h4", "expected g..n..k..c.. after the layout"),
        ("fwd_f16_nhwgc_g1n1k8c8_y1", "input (h..) is missing"),
        ("fwd_f16_nhwgc_g1n1k8c8_y1x1x1_h4", "y has 3 values, the layout has 2 dimensions"),
        ("fwd_f16_nhwgc_g1n1k8c8_y1_h4_h5", "'h5' is not a part of a case id"),
        ("fwd_f16_nhwgc_g1n1k8c8_y1_h4_gelu", "'gelu' is not a part of a case id"),
        ("fwd_f16_nhwgc_g1n1k8c8_y1_h4_inbias", "'inbias' is not a part of a case id"),
        ("fwd_f16_nhwgc_g1n1k8c8_y1_h4_inrelu_inscale", "'inscale' is not a part of a case id"),
        ("bwd_data_f16_nhwgc_g1n1k8c8_y1_h4_inscale", "bwd_data writes 'in'; its operation is op"),
        ("bwd_weight_f16_nhwgc_g1n1k8c8_y1_h4_weirelu", "bwd_weight writes 'wei'; its operation is op"),
        ("fwd_f16_nhwgc_g1n1k8c8_y5_h4", "the dilated filter covers 5 cells, the padded input has 4"),
        ("fwd_f16_nhwgc_g1n1k8c8_y3_h8_d4", "the dilated filter covers 9 cells, the padded input has 8"),
        ("fwd_f16_nhwgc_g0n1k8c8_y1_h4", "g = 0 is outside"),
        ("fwd_f16_nhwgc_g1n1k8c8_y1_h4_s0", "stride[0] = 0 is outside"),
        ("fwd_f16_nhwgc_g1n1k8c8_y1_h4_sk0", "split_k = 0"),
        ("fwd_f16_nhwgc_g1n1k2147483648c8_y1_h4", "k = 2147483648 is outside"),
        ("", "starts with none of"),
        ("fwd_f16_nhwgc_g1n1k\uff18c8_y1_h4", "an id is made of a-z, 0-9 and _"),
    ],
)
def test_what_is_impossible_is_refused_with_the_reason(text, message):
    with pytest.raises(ProblemError, match=re.escape(message)):
        parse_case_id(text)
