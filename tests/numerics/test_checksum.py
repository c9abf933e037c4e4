"""<dx, r> = <dy, fwd(r, w)> and its two sisters hold for every right result, and for no wrong one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.numerics.small_convolutions import convolutions, inputs_of, stored_values
from tests.numerics.small_gemms import gemms

from bitgate.model import ELEMENTWISE, F32_ACCUMULATION, parse_case_id
from bitgate.numerics import checksum
from bitgate.numerics.certificate import measure_bound
from bitgate.numerics.checksum import WeightPlan
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.reference import exact_reference
from bitgate.ops.convolution import ConvProblem
from bitgate.ops.gemm import GemmProblem

PASS = ELEMENTWISE["pass"]


@settings(max_examples=90, deadline=None)
@given(st.one_of(convolutions(dtypes=("f64", "f32")), gemms(("f64", "f32"))), st.integers(0, 2**32))
@example(parse_case_id("fwd_f32_nhwgc_n1k2c2_y1_h3_bilinear_gapd0k1"), 0)
def test_both_sides_agree_on_right_results_not_on_a_wrong_cell(problem: ConvProblem | GemmProblem, seed: int) -> None:
    problem = problem.changed(op=PASS, in_op=PASS, wei_op=PASS)
    inputs = inputs_of(problem)
    assert checksum.why_not(problem, measure_bound(problem, inputs).value) == ""
    result = exact_reference(problem, inputs)
    weights = WeightPlan.of(result.tensor, seed)
    wanted = checksum.expected(problem, weights, stored_values(inputs))
    assert checksum.weighted_sum(result, weights) == (wanted, 0)

    cell = np.unravel_index(seed % result.tensor.elements, result.tensor.lengths)
    result.logical[cell] += 1
    assert checksum.weighted_sum(result, weights)[0] != wanted


@settings(max_examples=30, deadline=None)
@given(convolutions(dtypes=("f32", "bf16", "i8")))
def test_operands_generated_by_blocks_are_those_of_the_fill(problem: ConvProblem) -> None:
    plan = plan_fill(problem, F32_ACCUMULATION, seed=3)
    stored, planned = stored_values(make_inputs(problem, plan)), checksum.planned_values(problem, plan)
    for name in problem.operands:
        index = np.arange(problem.tensors[name].elements, dtype=np.uint64)
        assert np.array_equal(stored(name, index), planned(name, index))


def test_a_cell_that_is_no_integer_is_reported() -> None:
    problem = parse_case_id("fwd_f32_nhwgc_n1k2c2_y1_h3")
    result = exact_reference(problem, inputs_of(problem))
    result.logical[0, 0, 0, 1, 1], result.logical[0, 0, 1, 2, 2] = 0.5, np.nan
    assert checksum.weighted_sum(result, WeightPlan.of(result.tensor))[1] == 2


@pytest.mark.parametrize(
    ("case", "bound", "words"),
    [
        ("bwd_data_f16_nhwgc_n1k2c2_y1_h3", 2048, ""),
        ("bwd_data_f16_nhwgc_n1k2c2_y1_h3", 2049, "sums may reach 2049, f16 holds them exactly to 2048"),
        ("bwd_data_f32_nhwgc_n1k2c2_y1_h3_bilinear", 9, "the operation bilinear is no part of the identity"),
        ("fwd_f32_nhwgc_n64k64c64_y3_h200_p1", 9, "its other side reads 1474596864"),
    ],
)
def test_where_it_does_not_hold_or_costs_too_much_it_says_so(case: str, bound: int, words: str) -> None:
    assert checksum.why_not(parse_case_id(case), bound)[: len(words) or None] == words


def test_the_cost_is_of_the_small_tensors_for_any_result() -> None:
    problem = parse_case_id("bwd_data_f16_nhwgc_g1n256k4c192_y2x2_h224x224_s224x224")
    assert problem.tensors["in"].elements > 2**31
    assert checksum.why_not(problem, 1024) == ""
    plan = plan_fill(problem, F32_ACCUMULATION)
    weights = WeightPlan.of(problem.tensors["in"])
    assert checksum.expected(problem, weights, checksum.planned_values(problem, plan)) > 0
