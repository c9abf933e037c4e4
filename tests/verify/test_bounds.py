"""Bounds for real numbers: an honest kernel stays inside, small losses fall outside."""

from __future__ import annotations

import numpy as np
import pytest
from tests.bounded import bounded_reference

from bitgate.core.errors import UsageError
from bitgate.model import DTYPES, F32_ACCUMULATION, Accumulation, parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.ordered import ordered_reference
from bitgate.verify.bounds import nan_class
from bitgate.verify.poison import poison_bits, poisoned

CASE = "bwd_data_{}_nhwgc_g2n2k32c8_y3_h9_s2_p1{}"


def prepared(dtype: str = "f32", suffix: str = "", accumulation: Accumulation = F32_ACCUMULATION):
    problem = parse_case_id(CASE.format(dtype, suffix))
    inputs = make_inputs(problem, plan_fill(problem, accumulation, "decimal"))
    return problem, inputs, *bounded_reference(problem, inputs, accumulation)


@pytest.mark.parametrize(
    "suffix", ["", "_bilinear", "_bias", "_relu", "_scale", "_gap", "_bilinear_a0p1_bm1p2_dtf32", "_scale_am0p1"]
)
@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_a_sum_in_any_order_stays_inside(dtype, suffix):
    accumulation = Accumulation(DTYPES["f64" if dtype == "f64" else "f32"])
    problem, inputs, reference, bounds = prepared(dtype, suffix, accumulation)
    honest = ordered_reference(problem, inputs)
    assert not bounds.outside(honest.logical).any()
    assert not bounds.outside(reference.logical).any()


@pytest.mark.parametrize(("dtype", "factor"), [("f32", 1 + 1e-3), ("f16", 1 + 4e-3), ("bf16", 1 + 3e-2)])
def test_a_small_relative_error_falls_outside(dtype, factor):
    _, _, reference, bounds = prepared(dtype)
    worse = (reference.logical.astype(np.float64) * factor).astype(reference.logical.dtype)
    assert bounds.outside(worse).mean() > 0.5


def test_a_lost_channel_falls_outside():
    problem, inputs, _, bounds = prepared("f16")
    inputs["out"].logical[:, :, -1] = 0
    assert bounds.outside(ordered_reference(problem, inputs).logical).mean() > 0.5


def test_nan_is_always_outside_and_infinity_below_the_types_end():
    _, _, reference, bounds = prepared("f16")
    for strange in (np.nan, np.inf, -np.inf):
        assert bounds.outside(np.full_like(reference.logical, strange)).all()
    bounds.value[...] = 70000.0
    assert not bounds.outside(np.full_like(reference.logical, np.inf)).any()
    assert bounds.outside(np.full_like(reference.logical, -np.inf)).all()


def test_narrow_partial_sums_widen_the_bound():
    narrow = Accumulation(DTYPES["f32"], partial=DTYPES["bf16"])
    assert (prepared("f32", "", narrow)[3].slack > 100 * prepared("f32")[3].slack).mean() > 0.5


@pytest.mark.parametrize(
    ("case", "operand", "at", "cells"),
    [  # an infinity in w, or dy: which cells of a result of 4 x 4 (bwd_weight: 3 x 3) have it beside the padding
        (
            "fwd_f32_nhwgc_g2n1k2c3_y3x3_h4x4_p1x1",
            "wei",
            (1, 1, 2, 0, 0),
            np.s_[1, 0, 1, [0, 0, 0, 0, 1, 2, 3], [0, 1, 2, 3, 0, 0, 0]],
        ),
        (
            "bwd_weight_f32_nhwgc_g2n1k2c3_y3x3_h4x4_p1x1",
            "out",
            (1, 0, 1, 0, 0),
            np.s_[1, 1, :, [0, 0, 0, 1, 2], [0, 1, 2, 0, 0]],
        ),
    ],
)
@pytest.mark.parametrize("fill", ["decimal", "exact"])
def test_only_padding_beside_an_infinity_makes_nan_of_a_cell(case, operand, at, cells, fill):
    """A kernel may leave the padding out or multiply its zeros; the reference leaves it out. That all other terms are
    integers does not change it."""
    problem = parse_case_id(case)
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill))
    inputs[operand].logical[at] = np.inf
    reference, bounds = bounded_reference(problem, inputs, F32_ACCUMULATION)
    strange = np.full_like(reference.logical, np.nan)
    accepted = ~bounds.outside(strange) & np.isfinite(reference.logical)
    beside = np.zeros_like(accepted)
    beside[cells] = True
    assert np.array_equal(accepted, beside)
    assert not bounds.outside(reference.logical).any()


def test_a_cell_that_nobody_wrote_is_no_nan_of_the_result():
    problem = parse_case_id("fwd_f16_nhwgc_g1n1k2c3_y3x3_h4x4_p1x1")
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "decimal"))
    inputs["in"].logical[...] = np.nan
    reference, bounds = bounded_reference(problem, inputs, F32_ACCUMULATION)
    assert not bounds.outside(reference.logical).any()
    assert bounds.outside(poisoned(reference.tensor).logical).all()


def test_an_only_nan_may_be_the_sum_though_it_is_the_poison_too():
    problem = parse_case_id("fwd_bf8fnuz_f8fnuz_f8fnuz_nwgc_g2n1k16c4_y2_h1_s1_d2_p1_q1")
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "codes"))
    reference, bounds = bounded_reference(problem, inputs, F32_ACCUMULATION)
    assert bounds.nan.any()
    strange = reference.logical.copy()
    strange[bounds.nan] = np.nan
    assert not bounds.outside(strange).any()


def test_subnormal_slices_may_be_lost_where_they_meet_in_memory():
    """Of one slice nothing is added to memory, so its sum counts."""
    for split, lost in (("", True), ("_sk2", False), ("_skauto", False)):
        problem = parse_case_id(f"bwd_weight_f32_nwgc_g1n1k1c1_y1_h2{split}")
        inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "decimal"))
        inputs["out"].logical[...], inputs["in"].logical[...] = 2.0**-80, 2.0**-51
        reference, bounds = bounded_reference(problem, inputs, F32_ACCUMULATION)
        assert not bounds.outside(reference.logical).any()
        assert bounds.outside(np.zeros_like(reference.logical)).all() == lost


def test_the_order_of_slices_in_f16_decides_on_overflow():
    """65504 + 65504 - 65504 - 65504 is zero, infinite or NaN, as slices may fall; one of them alone is what it is."""
    problem = parse_case_id("bwd_weight_f16_nwgc_g1n1k2c1_y1_h4_sk2")
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "special"))
    inputs["in"].logical[...] = 1
    inputs["out"].logical[0, 0] = [[65504, 65504, -65504, -65504], [65504, 0, 0, 1]]
    narrow = Accumulation(DTYPES["f32"], partial=DTYPES["f16"])
    for accumulation, accepted in ((narrow, [True, False]), (F32_ACCUMULATION, [False, False])):
        reference, bounds = bounded_reference(problem, inputs, accumulation)
        assert not bounds.outside(reference.logical).any()
        assert (~bounds.outside(np.full_like(reference.logical, -np.inf)))[0, :, 0, 0].tolist() == accepted


def test_integer_results_have_no_bound():
    with pytest.raises(UsageError, match="use --fill exact"):
        bounded_reference(parse_case_id("fwd_i8_nhwgc_g1n1k8c8_y1_h4"), {}, F32_ACCUMULATION)


TYPES = (
    "f16",
    "bf16",
    "f32",
    "f8ocp",
    "bf8ocp",
    "f8fnuz",
    "bf8fnuz",
    "bf8ocp_f8ocp_f8ocp",
    "f16_ctf8ocp",
    "f32_ctbf16",
)


@pytest.mark.parametrize("fill", ["decimal", "special", "codes"])
@pytest.mark.parametrize("types", TYPES)
def test_the_stated_order_is_one_of_those_that_are_right(types, fill):
    """NaN, infinities and saturated cells among them; operands are rounded to the compute type first."""
    for direction in ("fwd", "bwd_data", "bwd_weight"):
        for suffix in ("", "_bilinear", "_relu"):
            problem = parse_case_id(f"{direction}_{types}_nhwgc_g2n2k12c8_y3_h9_s2_p1{suffix}")
            inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill))
            bounds = bounded_reference(problem, inputs, F32_ACCUMULATION)[1]
            assert not bounds.outside(ordered_reference(problem, inputs).logical).any()
            assert bounds.open.mean() < 0.35 or fill == "codes"


@pytest.mark.parametrize("fill", ["exact", "decimal", "special", "codes"])
@pytest.mark.parametrize("words", ["a0p1_b1p2", "a0", "am1_b0", "a0p5_bm1_dtf32_dbnh", "a123456_b0p1"])
@pytest.mark.parametrize("types", ["f16", "bf16", "f32", "f8ocp"])
def test_factors_change_nothing_of_that(types, words, fill):
    """Sums that overflow before alpha makes them small, and products with NaN, among them."""
    problem = parse_case_id(f"fwd_{types}_nhwgc_g2n2k12c8_y3_h9_s2_p1_bilinear_{words}")
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill))
    bounds = bounded_reference(problem, inputs, F32_ACCUMULATION)[1]
    assert not bounds.outside(ordered_reference(problem, inputs).logical).any()
    assert bounds.open.mean() < 0.5 or fill == "codes"


def special(types: str, accumulation: Accumulation = F32_ACCUMULATION):
    problem = parse_case_id(f"fwd_{types}_nhwgc_g2n2k12c8_y3_h9_s2_p1")
    inputs = make_inputs(problem, plan_fill(problem, accumulation, "special"))
    return ordered_reference(problem, inputs).logical, bounded_reference(problem, inputs, accumulation)[1]


@pytest.mark.parametrize("types", ["f16", "bf16", "bf8ocp"])
def test_a_wrong_class_falls_outside(types):
    result, bounds = special(types)
    held = ~bounds.open
    nan, infinite = np.isnan(result) & held, np.isinf(result.astype(np.float64)) & held
    assert nan.any()
    assert infinite.any()
    for where, other in ((nan, 1.0), (nan, np.inf), (infinite, np.nan), (infinite, 0.0)):
        worse = result.copy()
        worse[where] = other
        assert bounds.outside(worse)[where].any()
    assert bounds.outside(-result)[infinite & ~np.isfinite(bounds.value)].all()


def test_where_nothing_rounds_the_sign_of_zero_is_compared():
    result, bounds = special("f16")
    zeros = (result == 0) & bounds.exact
    assert zeros.any()
    assert not np.signbit(result[zeros]).any()
    assert bounds.outside(np.where(zeros, np.float16(-0.0), result))[zeros].all()


def test_an_8_bit_float_that_does_not_saturate_falls_outside():
    result, bounds = special("f8ocp")
    full = np.abs(result.astype(np.float32)) == 448
    assert full.any()
    assert bounds.outside(np.where(full, result.dtype.type(np.nan), result))[full].all()


def test_flushed_subnormals_are_inside_only_by_contract():
    problem = parse_case_id("fwd_f16_nhwgc_g1n1k4c1_y1_h8")
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "special"))
    tiny = inputs["in"].logical
    tiny[...] = np.float16(2**-15)
    flushed = np.zeros(problem.tensors["out"].lengths, np.float16)
    strict = bounded_reference(problem, inputs, F32_ACCUMULATION)[1]
    lax = bounded_reference(problem, inputs, Accumulation(DTYPES["f32"], flushes_subnormals=True))[1]
    assert strict.outside(flushed).any()
    assert not lax.outside(flushed).any()


@pytest.mark.parametrize(("tiny", "infinite"), [("in", "wei"), ("wei", "in")])
def test_subnormal_times_infinity_may_be_nan_only_where_flushed(tiny, infinite):
    problem = parse_case_id("fwd_f16_nhwgc_g1n1k2c4_y1_h8")
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "exact"))
    inputs["in"].logical[...] = inputs["wei"].logical[...] = np.float16(1)
    channel = (0, 0, 1)  # of in: image 0, channel 1; of wei: k 0, channel 1
    inputs[tiny].logical[channel] = np.float16(2**-15)
    inputs[infinite].logical[channel] = np.float16(np.inf)
    strict = bounded_reference(problem, inputs, F32_ACCUMULATION)[1]
    lax = bounded_reference(problem, inputs, Accumulation(DTYPES["f32"], flushes_subnormals=True))[1]
    nan = np.full(problem.tensors["out"].lengths, np.nan, np.float16)
    met = np.isinf(strict.value)
    met[:, :, 1] &= infinite == "in" and tiny == "in"  # of k 1 the other factor is 1
    assert met.any()
    assert strict.outside(nan).all()
    np.testing.assert_array_equal(~lax.outside(nan), met)
    assert not lax.outside(strict.reference).any()
    assert lax.outside(np.where(met, np.float16(7), strict.reference))[met].all()


def test_any_nan_is_as_good_as_another_but_not_an_unwritten_one():
    problem = parse_case_id("fwd_f32_nhwgc_g2n2k12c8_y3_h9_s2_p1")
    reference = ordered_reference(problem, make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "special")))
    judge = nan_class(reference, poison_bits(DTYPES["f32"]))
    nan = np.isnan(reference.logical)
    payload, number = (reference.bits.copy() for _ in range(2))
    payload[nan], number[nan] = 0xFFC12345, 0
    assert judge
    assert not judge.outside(payload.view(np.float32)).any()
    for turn in (0, 1):
        unwritten = reference.bits.copy()
        unwritten[nan] = poison_bits(DTYPES["f32"], turn)
        assert np.array_equal(judge.outside(unwritten.view(np.float32)), nan)
    assert np.array_equal(judge.outside(number.view(np.float32)), nan)
    plain = HostTensor.empty(reference.tensor)
    plain.logical[...] = 1
    assert nan_class(plain, 0) is None
