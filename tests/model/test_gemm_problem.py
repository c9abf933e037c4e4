"""A batched GEMM: its ids, its strides, and its sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gapped import gapped
from tests.problems import gemm

from bitgate.model import ELEMENTWISE, DtypeSet, ProblemError, case_id, human, parse_case_id
from bitgate.ops.gemm import GEMM_LAYOUTS, GemmProblem, gemm_problem

SIZES = st.integers(1, 40)
GEMMS = gapped(
    st.builds(
        gemm_problem,
        dtypes=st.just(DtypeSet.parse("f16")),
        layout=st.sampled_from(GEMM_LAYOUTS),
        batch=st.integers(1, 3),
        m=SIZES,
        n=SIZES,
        k=SIZES,
        op=st.sampled_from(list(ELEMENTWISE.values())),
        gap=st.booleans(),
    )
)


@given(GEMMS)
def test_an_id_comes_back_as_the_same_problem(problem: GemmProblem) -> None:
    assert parse_case_id(case_id(problem)) == problem


def test_ids_read_as_in_the_contract() -> None:
    problem = gemm("gemm_f16_rcr_b2m64n48k32_bilinear")
    assert case_id(problem) == "gemm_f16_rcr_b2m64n48k32_bilinear"
    assert human(problem) == "gemm f16 RCR batch=2 64x48x32 bilinear"
    assert problem.operation.name == "gemm"
    assert problem.flops == 2 * 2 * 64 * 48 * 32
    assert (problem.batch, problem.m, problem.n, problem.k) == (2, 64, 48, 32)


def test_bias_is_one_value_a_column_of_c() -> None:
    bias = parse_case_id("gemm_f32_rcr_b2m3n5k7_bias").tensors["d0"]
    assert (bias.lengths, bias.strides) == ((2, 3, 5), (5, 0, 1))


def test_an_operand_takes_no_operation_that_reads_d() -> None:
    with pytest.raises(ProblemError, match="in_op = bilinear: an operand takes scale, relu or pass"):
        gemm_problem(DtypeSet.parse("f32"), "rcr", 1, 2, 2, 2, in_op=ELEMENTWISE["bilinear"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gemm_f16_rcx_b2m64n64k32", "layout"),
        ("gemm_f16_rcr_m64n64", "b..m..n..k.."),
        ("gemm_f16_rcr_m0n64k3", "m = 0"),
        ("gemm_f16_rcr_m4n4k4_s2", "'s2' is not a part of a case id"),
        ("gemm_f16_rcr_m4n4k4_sk0", "split_k = 0"),
    ],
)
def test_a_malformed_id_says_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(ProblemError, match=why):
        parse_case_id(text)


@pytest.mark.parametrize("layout", GEMM_LAYOUTS)
def test_letters_decide_which_index_is_contiguous(layout: str) -> None:
    tensors = parse_case_id(f"gemm_f32_{layout}_b2m3n5k7").tensors
    a, b, c = (tensors[name].strides for name in ("in", "wei", "out"))
    assert a == ((21, 7, 1) if layout[0] == "r" else (21, 1, 3))  # (batch, M, K)
    assert b == ((35, 1, 5) if layout[1] == "r" else (35, 7, 1))  # (batch, N, K)
    assert c == ((15, 5, 1) if layout[2] == "r" else (15, 1, 3))  # (batch, M, N)
