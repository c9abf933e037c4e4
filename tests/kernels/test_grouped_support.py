"""What the grouped kernel refuses, by which clause, and that C++ and Python agree on it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitgate.kernel.registry import families
from bitgate.problem import ProblemError, parse_case_id

FAMILY = families()["grouped_bwd_data"]
WIDE = "f16_128x64x64_a8b8c8"
ANY = "f16_32x32x32_a1b1c1"


@pytest.mark.parametrize(
    ("case", "instance", "clause"),
    [
        ("fwd_f16_nhwgc_n1k8c8_y1_h2", ANY, "operation"),
        ("bwd_data_f32_nhwgc_n1k8c8_y1_h2", ANY, "dtypes"),
        ("bwd_data_f16_f32_f16_nhwgc_n1k8c8_y1_h2", ANY, "dtypes"),
        ("bwd_data_f16_nhwgc_n1k8c8_y1_h2_sk2", ANY, None),
        ("bwd_data_f16_nhwgc_n1k8c8_y1_h2_sk128", ANY, None),
        ("bwd_data_f16_nhwgc_n1k8c8_y1_h2_sk129", ANY, "split_k"),
        ("bwd_data_f16_nhwgc_n1k8c8_y1_h2_scale_sk2", ANY, "split_k_op"),
        ("bwd_data_f16_nhwgc_n1k8c8_y1_h2_bilinear_sk3", ANY, "split_k_op"),
        ("bwd_data_f16_nhwgc_n1k8c8_y1_h2_bilinear_skauto", ANY, None),
        ("bwd_data_f16_ngchw_n1k8c8_y1_h2", ANY, "layout"),
        ("bwd_data_f16_nhwgc_gkcyx_n1k8c8_y2_h2", ANY, "layout"),
        ("bwd_data_f16_nhwgc_n1k12c8_y1_h2", WIDE, "k_vector"),
        ("bwd_data_f16_nhwgc_n1k8c12_y1_h2", WIDE, "c_vector"),
        ("bwd_data_f16_nhwgc_n1k8c8_y1_h2_d1073741823", ANY, None),
        ("bwd_data_f16_nhwgc_n1k8c8_y1_h2_s1073741825", ANY, "index_range"),
        ("bwd_data_f16_nhwgc_g65536n1k8c8_y1_h2", ANY, "index_range"),
        ("bwd_data_f16_nhwgc_n1k1c1_y257x257_h300x300_s257", ANY, "index_range"),
        ("bwd_data_f16_nhwgc_n30000k8c8_y2_h20000x20000_s2", ANY, "index_range"),
        ("bwd_data_f16_nhwgc_n1k9c7_y1_h2", ANY, None),
        ("bwd_data_f16_nhwgc_n1k8c8_y1_h2_skauto", WIDE, None),
        ("bwd_data_f16_nhwgc_n1k8c8_y1_h2_gap", WIDE, None),
    ],
)
def test_clause(bench, case, instance, clause):
    problem = parse_case_id(case)
    declared = FAMILY.supports(problem, FAMILY.instance(instance), {})
    answered = bench.library(FAMILY).is_supported(problem, instance)
    assert (declared and declared.clause) == clause
    assert (answered and answered.clause) == clause


@pytest.mark.parametrize(("alignment", "clause"), [(16, None), (8, "alignment"), (2, "alignment")])
def test_promised_alignment(bench, alignment, clause):
    refusal = bench.library(FAMILY).is_supported(
        parse_case_id("bwd_data_f16_nhwgc_n1k8c8_y1_h2"), WIDE, alignment=alignment
    )
    assert (refusal and refusal.clause) == clause


def test_refusal_names_the_values(bench):
    refusal = bench.library(FAMILY).is_supported(parse_case_id("bwd_data_f16_nhwgc_n1k12c8_y1_h2"), WIDE)
    assert refusal.text == "K = 12 is not a multiple of the vector of 8"


@st.composite
def problem_texts(draw):
    ndim = draw(st.integers(1, 3))
    small = st.integers(1, 9)
    layouts = {1: ["nwgc", "gnwc", "ngcw"], 2: ["nhwgc", "gnhwc", "ngchw"], 3: ["ndhwgc", "gndhwc", "ngcdhw"]}
    numbers = {
        key: "x".join(str(draw(strategy)) for _ in range(ndim))
        for key, strategy in (
            ("y", small),
            ("h", st.integers(1, 40)),
            ("s", small),
            ("d", small),
            ("p", st.integers(0, 4)),
        )
    }
    dims = f"g{draw(small)}n{draw(small)}k{draw(st.integers(1, 40))}c{draw(st.integers(1, 40))}"
    gap = draw(st.sampled_from(["", "_gap"]))
    dtype = draw(st.sampled_from(["f32", "f16", "bf16"]))
    return (
        f"bwd_data_{dtype}_{draw(st.sampled_from(layouts[ndim]))}_{dims}_"
        + "_".join(key + value for key, value in numbers.items())
        + gap
    )


@settings(max_examples=150, deadline=None)
@given(text=problem_texts())
def test_both_predicates_agree(bench, text):
    try:
        problem = parse_case_id(text)
    except ProblemError:
        return
    for instance in FAMILY.instances:
        declared = FAMILY.supports(problem, instance, {})
        answered = bench.library(FAMILY).is_supported(problem, instance)
        assert (declared and declared.clause) == (answered and answered.clause), (text, instance.name)
