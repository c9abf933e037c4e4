"""Bounds for real numbers: an honest kernel stays inside, small losses fall outside."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.errors import UsageError
from bitgate.exact.fill import make_inputs, plan_fill
from bitgate.exact.ordered import ordered_reference
from bitgate.problem import DTYPES, parse_case_id
from bitgate.problem.accumulation import F32_ACCUMULATION, Accumulation
from bitgate.verify.bounds import bounded_reference

CASE = "bwd_data_{}_nhwgc_g2n2k32c8_y3_h9_s2_p1{}"


def prepared(dtype: str = "f32", suffix: str = "", accumulation: Accumulation = F32_ACCUMULATION):
    problem = parse_case_id(CASE.format(dtype, suffix))
    inputs = make_inputs(problem, plan_fill(problem, accumulation, "decimal"))
    return problem, inputs, *bounded_reference(problem, inputs, accumulation)


@pytest.mark.parametrize("suffix", ["", "_bilinear", "_bias", "_relu", "_scale", "_gap"])
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


def test_nan_is_always_outside_and_infinity_only_where_the_type_ends():
    _, _, reference, bounds = prepared("f16")
    for strange in (np.nan, np.inf, -np.inf):
        assert bounds.outside(np.full_like(reference.logical, strange)).all()
    bounds.value[...] = 70000.0
    assert not bounds.outside(np.full_like(reference.logical, np.inf)).any()
    assert bounds.outside(np.full_like(reference.logical, -np.inf)).all()


def test_narrow_partial_sums_widen_the_bound():
    narrow = Accumulation(DTYPES["f32"], partial=DTYPES["bf16"])
    assert (prepared("f32", "", narrow)[3].slack > 100 * prepared("f32")[3].slack).mean() > 0.5


@pytest.mark.parametrize("case", ["fwd_i8_nhwgc_g1n1k8c8_y1_h4", "fwd_f16_ctf8ocp_nhwgc_g1n1k8c8_y1_h4"])
def test_what_has_no_bound_is_refused(case):
    problem = parse_case_id(case)
    with pytest.raises(UsageError, match="use --fill exact"):
        bounded_reference(problem, {}, F32_ACCUMULATION)
