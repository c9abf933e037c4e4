"""ckProfiler's lines of matrix products: what they mean, the way back, and what ckProfiler prints of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.interop import Controls, controls_of, found_in_case, parse_foreign, perf_of
from bitgate.model import DtypeSet, ProblemError, case_id, foreign_line, parse_case_id
from bitgate.model.gap import Gap
from bitgate.ops.gemm.problem import GEMM_LAYOUTS, gemm_problem

README = "ckProfiler gemm 1 1 1 1 0 5 3840 4096 4096 4096 4096 4096"
"""The run that ckProfiler's own README shows."""


@pytest.mark.parametrize(
    ("words", "case"),
    [
        ("gemm 1 1 1 1 0 5 3840 4096 4096 4096 4096 4096", "gemm_f16_rcr_b1m3840n4096k4096"),
        ("gemm 0 0 1 1 0 1 4 5 6 -1 -1 -1", "gemm_f32_rrr_b1m4n5k6"),
        ("gemm 3 2 1 1 0 1 4 5 6 4 5 5 1 10", "gemm_i8_crr_b1m4n5k6"),
        # a stride beyond a row leaves unused elements after it
        ("gemm 2 3 1 1 0 1 4 5 6 8 -1 7", "gemm_bf16_ccr_b1m4n5k6_gapam4_gapcn2"),
        ("gemm_splitk 1 1 1 1 0 1 4 5 6 -1 -1 -1 4", "gemm_f16_rcr_b1m4n5k6_sk4"),
        ("gemm_splitk 4 1 1 1 0 1 4 5 6 -1 -1 -1 1 5 20", "gemm_f8fnuz_f16_f16_ctf16_rcr_b1m4n5k6"),
        ("gemm_splitk 6 1 1 1 0 1 4 5 6 -1 -1 -1 1", "gemm_f16_ctf8fnuz_rcr_b1m4n5k6"),
        ("batched_gemm 1 0 1 1 0 1 4 5 6 -1 -1 -1 -1 -1 -1 3", "gemm_f16_rrr_b3m4n5k6"),
        ("batched_gemm 1 0 1 1 0 1 4 5 6 8 5 5 32 30 20 3", "gemm_f16_rrr_b3m4n5k6_gapak2"),
        ("batched_gemm 1 0 1 1 0 1 4 5 6 6 5 5 3", "gemm_f16_rrr_b3m4n5k6"),
        # M N K, strides of A, B, D and E, alpha and beta
        ("gemm_bilinear 1 1 1 1 0 1 4 5 6 -1 -1 -1 -1 1.2 -1", "gemm_f16_rcr_b1m4n5k6_bilinear_a1p2_bm1"),
        ("gemm_bilinear 3 0 1 1 0 1 4 5 6 8 5 7 5 2 0", "gemm_i8_rrr_b1m4n5k6_bilinear_b0_gapak2_gapdn2"),
    ],
)
def test_understood(words, case):
    (problem,) = parse_foreign(f"./bin/ckProfiler {words}")
    assert case_id(problem) == case_id(parse_case_id(case))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("gemm 1 1 1 1 0 5 3840 4096 4096", "9 words after gemm: it takes 12 or 14"),
        ("gemm 9 1 1 1 0 1 4 5 6 -1 -1 -1", "gemm data type 9 is not understood: 0 (f32), 1 (f16), 2 (bf16), 3 (i8)"),
        ("gemm 1 4 1 1 0 1 4 5 6 -1 -1 -1", "gemm layout 4 is not understood: 0 (rrr), 1 (rcr)"),
        ("gemm 1 1 1 1 0 1 4 5 6 5 -1 -1", "StrideA is 5: a row has 6 elements"),
        ("gemm 1 1 1 1 0 1 4 5 6 0 -1 -1", "StrideA is 0: a row has 6 elements"),
        ("gemm 1 1 1 1 0 1 0 5 6 -1 -1 -1", "m = 0 is outside 1.."),
        ("gemm_splitk 1 1 1 1 0 1 4 5 6 -1 -1 -1 -1", "split-K is -1: a positive one is understood"),
        (
            "batched_gemm 1 0 1 1 0 1 4 5 6 -1 -1 -1 25 -1 -1 3",
            "BatchStrideA is 25: 24 (or -1) is understood, without gaps",
        ),
        ("gemm_bilinear 1 1 1 1 0 1 4 5 6 -1 -1 -1 -1 1.2 x", "beta is 'x', not a number"),
        ("gemm_bilinear 1 1 1 1 0 1 4 5 6 -1 -1 -1 -1 1e7 1", "alpha = 10000000.0: write at most 6 digits"),
        ("gemm_bilinear 1 1 1 1 0 1 4 5 6 -1 -1 4 -1 1 1", "StrideD is 4: a row has 5 elements"),
        ("gemm_add 1 0 1 1 0 1 4 5 6 -1 -1 -1", "operation 'gemm_add' is not understood: grouped_conv_fwd"),
        ("", "operation '' is not understood: grouped_conv_fwd"),
    ],
)
def test_refused(words, reason):
    with pytest.raises(ProblemError, match=re.escape(reason)):
        parse_foreign(f"ckProfiler {words}")


def test_how_a_line_wants_to_be_run_and_timed():
    assert controls_of("ckProfiler gemm 1 1 2 2 0 1 4 5 6 -1 -1 -1") == Controls(1, 2, 1)
    (entry,) = found_in_case("ckProfiler gemm_splitk 1 1 1 2 0 1 4 5 6 -1 -1 -1 4 5 20")
    assert (perf_of(entry).launches, perf_of(entry).fill) == (20, "decimal")
    (entry,) = found_in_case("ckProfiler batched_gemm 1 1 1 1 0 0 4 5 6 -1 -1 -1 2")
    assert perf_of(entry).refusal.startswith("the time switch (arg7) is 0")
    (entry,) = found_in_case("ckProfiler gemm 1 1 1 1 0 1 4 5 6 -1 -1 -1 5 0")
    with pytest.raises(ProblemError, match="the number of iterations is 0: one at least can be timed"):
        perf_of(entry)


LENGTHS = st.integers(1, 9)
GAPS = st.lists(st.sampled_from([("a", "mk"), ("b", "nk"), ("c", "mn")]), unique_by=lambda gap: gap[0])


@given(
    st.sampled_from(["f32", "f16", "i8", "f8fnuz", "f16_ctf8fnuz", "f64"]),
    st.sampled_from(GEMM_LAYOUTS),
    st.tuples(LENGTHS, LENGTHS, LENGTHS, LENGTHS),
    st.sampled_from([1, 1, 4, -1]),
    GAPS,
)
def test_what_is_printed_reads_back(dtypes, layout, sizes, split_k, gapped):
    """What has no line: types without a number, a batch with a split-K, the kernel's choice of it."""
    rows = dict(zip("abc", layout, strict=True))
    last = {"a": {"r": "k", "c": "m"}, "b": {"r": "n", "c": "k"}, "c": {"r": "n", "c": "m"}}
    gaps = tuple(Gap(name, last[name][rows[name]], 3) for name, _ in gapped)
    problem = gemm_problem(DtypeSet.parse(dtypes), layout, *sizes, split_k=split_k, gaps=gaps)
    line = foreign_line(problem)
    if line is None:
        assert dtypes in ("f8fnuz", "f16_ctf8fnuz", "f64") or split_k == -1 or (split_k > 1 and sizes[0] > 1)
    else:
        assert parse_foreign(line) == (problem,)


@pytest.mark.parametrize(
    ("case", "line"),
    [
        (
            "gemm_f16_rcr_m4n5k6_bilinear_a1p2_bm1_gapdn2",
            "ckProfiler gemm_bilinear 1 1 1 1 0 0 4 5 6 6 6 7 5 1.2 -1",
        ),
        ("gemm_f32_rcr_m4n5k6_bilinear", None),  # CK has no instances
        ("gemm_f16_rcr_m4n5k6_bilinear_dtf32", None),
        ("gemm_f16_rcr_b2m4n5k6_bilinear", None),
        ("gemm_f16_rcr_m4n5k6_inplace", None),
    ],
)
def test_alpha_and_beta_are_printed_back(case, line):
    problem = parse_case_id(case)
    assert foreign_line(problem) == line
    if line is not None:
        assert parse_foreign(line) == (problem,)
