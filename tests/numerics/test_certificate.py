"""Certificates: the bound bounds, and what cannot hold is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.numerics.small_convolutions import EVERY, convolutions, inputs_of, passing
from tests.oracle import at_place, exact_sums, terms
from tests.problems import convolution

from bitgate.model import DTYPES, ELEMENTWISE, F32_ACCUMULATION, Accumulation
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.certificate import certify, measure_bound, measured_certificate, silent_indices
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.ordered import accumulator_of
from bitgate.numerics.rounding import factors
from bitgate.ops.convolution import ConvProblem, Pass

SPLIT_BF16 = Accumulation(DTYPES["f32"], partial=DTYPES["bf16"])


def absolute(inputs: dict[str, HostTensor]) -> dict[str, HostTensor]:
    return {
        name: HostTensor(h.tensor, np.abs(h.storage.astype(np.float64)).astype(h.storage.dtype))
        for name, h in inputs.items()
    }


@given(convolutions(("f64", "f32", "f16", "bf16")), st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_no_sum_of_absolute_values_exceeds_the_bound(problem: ConvProblem, seed: int) -> None:
    multiplied = factors(problem, inputs_of(problem, seed=seed))
    plain = replace(problem, in_op=ELEMENTWISE["pass"], wei_op=ELEMENTWISE["pass"])
    assert exact_sums(plain, absolute(multiplied)).max() <= measure_bound(problem, multiplied).value


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight"])
def test_sums_that_leave_f64_have_no_bound_and_warn_of_nothing(direction: str) -> None:
    inputs = inputs_of(problem := convolution(f"{direction}_f64_nhwgc_n2k1c1_y3x3_h8x8_p1x1"))
    huge = {name: HostTensor(h.tensor, np.full_like(h.storage, 1.5e308)) for name, h in inputs.items()}
    accumulation = Accumulation(accumulator_of(problem))
    assert measure_bound(problem, huge).value == 0
    assert not measured_certificate(problem, plan_fill(problem, accumulation), huge, accumulation).holds


@given(convolutions(EVERY), st.sampled_from([None, SPLIT_BF16, F32_ACCUMULATION]))
@settings(max_examples=80, deadline=None)
def test_planned_data_hold(problem: ConvProblem, contract: Accumulation | None) -> None:
    accumulation = contract or Accumulation(accumulator_of(problem))
    plan = plan_fill(problem, accumulation)
    certificate = certify(problem, plan, make_inputs(problem, plan), accumulation)
    assert certificate.holds
    assert certificate.bound <= certificate.exact_range == accumulation.exact_range
    assert 0 < certificate.density <= 1
    assert certificate.sensitivity is not None
    assert 0 <= certificate.sensitivity <= 1


def test_a_narrow_partial_type_lowers_range_and_then_density() -> None:
    """bf16 partials hold integers to 256: 16 channels fit with smaller values, 256 x 9 only with zeros."""
    small = plan_fill(convolution("bwd_data_bf16_nhwgc_n2k16c16_y3x3_h8x8_p1x1"), SPLIT_BF16)
    assert "range lowered to 1 x 1" in small.note
    problem = convolution("bwd_data_bf16_nhwgc_n2k256c256_y3x3_h8x8_p1x1")
    plan = plan_fill(problem, SPLIT_BF16)
    certificate = certify(problem, plan, make_inputs(problem, plan), SPLIT_BF16)
    assert certificate.holds
    assert certificate.bound <= 256
    assert "density lowered" in certificate.note
    assert certificate.density < 0.99
    assert "contribute nothing" not in certificate.note


def test_a_range_that_nothing_fits_does_not_hold() -> None:
    problem = convolution("bwd_data_f32_nhwgc_n1k64c8_y3x3_h8x8_p1x1_bilinear")
    contract = Accumulation(DTYPES["f32"], measured_range=2)
    plan = plan_fill(problem, contract)
    certificate = certify(problem, plan, make_inputs(problem, plan), contract)
    assert not certificate.holds
    assert "exact only to 2" in certificate.note


def test_data_of_a_wider_contract_do_not_hold_under_a_narrower() -> None:
    problem = convolution("bwd_data_bf16_nhwgc_n2k256c64_y3x3_h8x8_p1x1")
    plan = plan_fill(problem, F32_ACCUMULATION)
    inputs = make_inputs(problem, plan)
    assert certify(problem, plan, inputs, F32_ACCUMULATION).holds
    assert not certify(problem, plan, inputs, SPLIT_BF16).holds


def test_decimals_claim_nothing() -> None:
    problem = convolution("bwd_data_f32_nhwgc_n1k4c4_y3x3_h6x6")
    plan = plan_fill(problem, F32_ACCUMULATION, "decimal")
    certificate = certify(problem, plan, make_inputs(problem, plan), F32_ACCUMULATION)
    assert not certificate.holds
    assert "not integers" in certificate.note


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.5])
def test_a_single_odd_value_is_seen(value: float) -> None:
    problem = convolution("bwd_data_f32_nhwgc_n1k4c4_y3x3_h6x6")
    inputs = inputs_of(problem)
    inputs["out"].logical[0, 0, 2, 3, 1] = value
    assert not measure_bound(problem, inputs).integers


@given(convolutions(("f32",)), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_silent_reduction_indices_are_counted(problem: ConvProblem, seed: int) -> None:
    """With half of each operand zero: by enumeration of every product."""
    problem = passing(problem)
    inputs = inputs_of(problem, seed=seed)
    for name, host in inputs.items():
        host.logical[...] *= np.random.default_rng([seed, len(name)]).integers(0, 2, host.logical.shape)
    whole = {name: host.logical != 0 for name, host in inputs.items()}
    heard: set[Any] = set()
    if problem.direction is Pass.BWD_WEIGHT:
        for position, _, cell in terms(problem):
            x, y = whole["in"][at_place(cell)].any(axis=2), whole["out"][at_place(position)].any(axis=2)
            heard |= {(g, n, position) for g, n in np.argwhere(x & y).tolist()}
        total = problem.g * problem.n * int(np.prod(problem.output))
    else:
        # Whether a non-zero of the data meets the tap at all is left to geometry: the claim is of marginals.
        fwd = problem.direction is Pass.FWD
        data = whole["in" if fwd else "out"].any(axis=(1, *range(3, 3 + problem.ndim)))
        weights = whole["wei"].any(axis=1 if fwd else 2)
        heard = {tuple(at) for at in np.argwhere(weights).tolist() if data[at[0], at[1]]}
        total = weights.size
    assert silent_indices(problem, inputs) == (total - len(heard), total)


@pytest.mark.parametrize(("dtype", "least"), [("f32", 0.99), ("f16", 0.9), ("bf16", 0.5), ("i8", 0.5)])
def test_sensitivity_is_near_what_losing_terms_shows(dtype: str, least: float) -> None:
    """Drop single products of a forward convolution and round: the estimate is near the share that changes."""
    problem = convolution(f"fwd_{dtype}_nwgc_n1k32c400_y1_h32")
    inputs = inputs_of(problem)
    plan = plan_fill(problem, Accumulation(accumulator_of(problem)))
    estimate = certify(problem, plan, inputs, Accumulation(accumulator_of(problem))).sensitivity
    x, w = (inputs[name].logical.astype(np.float64) for name in ("in", "wei"))
    products = x[0, 0, :, None, :] * w[0, :, :, 0].T[:, :, None]  # (c, k, position)
    sums = products.sum(axis=0)

    def out(values: np.ndarray) -> np.ndarray:
        return np.clip(values, -128, 127) if dtype == "i8" else values.astype(problem.dtypes.out.numpy)

    shown = np.mean(out(sums - products) != out(sums))
    assert shown > least
    assert abs(shown - estimate) < 0.1
