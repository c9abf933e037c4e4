"""Alpha and beta: which keep integers exact, what certificates count, and what is rounded where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.numerics.small_convolutions import inputs_of
from tests.problems import gemm

from bitgate.model import ELEMENTWISE, F32_ACCUMULATION
from bitgate.numerics.certificate import certify
from bitgate.numerics.fill import fill_named, is_stored, plan_fill
from bitgate.numerics.ordered import ordered_reference
from bitgate.numerics.reference import InexactError, exact_reference

CASE = "gemm_f32_m5n6k7_bilinear"


@pytest.mark.parametrize(("alpha", "unit"), [(2.0, 1), (-1.0, 1), (0.0, 1), (0.5, 2), (0.375, 8), (1.2, 0), (0.1, 0)])
def test_the_unit_is_the_finest_fraction(alpha, unit):
    assert ELEMENTWISE["scale"].with_factors({"alpha": alpha}).unit == unit


@pytest.mark.parametrize("words", ["", "_b0", "_am1_b1", "_a0p5_b0p5", "_a0", "_a0p00390625"])
def test_what_keeps_integers_exact_holds(words):
    problem = gemm(CASE + words)
    inputs = inputs_of(problem)
    certificate = certify(problem, plan_fill(problem, F32_ACCUMULATION), inputs, F32_ACCUMULATION)
    assert certificate.holds, certificate.note
    assert (certificate.sensitivity == 0) == (problem.op.alpha == 0)
    assert np.array_equal(exact_reference(problem, inputs).bits, ordered_reference(problem, inputs).bits)


def test_a_bound_counts_the_finest_fraction():
    problem, finer = gemm(f"{CASE}_a1_b1"), gemm(f"{CASE}_a1_b0p25")
    inputs = inputs_of(problem)
    plain, fine = (
        certify(one, plan_fill(problem, F32_ACCUMULATION), inputs, F32_ACCUMULATION).bound for one in (problem, finer)
    )
    d = int(np.abs(inputs["d0"].logical).max())
    assert fine == 4 * (plain - d) + d


@pytest.mark.parametrize("words", ["_a1p2", "_a0p1_b0", "_b1p2"])
def test_what_rounds_claims_no_bits(words):
    problem = gemm(CASE + words)
    inputs = inputs_of(problem)
    certificate = certify(problem, plan_fill(problem, F32_ACCUMULATION), inputs, F32_ACCUMULATION)
    assert not certificate.holds
    assert "rounds what it multiplies" in certificate.note
    assert not fill_named(problem, "exact").exact
    assert not is_stored(problem, "exact")
    with pytest.raises(InexactError, match="rounds: use the ordered reference"):
        exact_reference(problem, inputs)


def test_alpha_is_rounded_to_f32_once():
    problem = gemm("gemm_f32_m1n1k1_scale_a1p2")
    inputs = inputs_of(problem)
    product = inputs["in"].logical.item() * inputs["wei"].logical.item()
    assert ordered_reference(problem, inputs).logical.item() == np.float32(1.2) * np.float32(product)


def test_halves_of_integers_are_rounded_to_even():
    problem = gemm("gemm_i8_m16n16k3_scale_a0p5")
    inputs = inputs_of(problem)
    sums = np.einsum("bmk,bnk->bmn", *(inputs[name].logical.astype(np.int64) for name in ("in", "wei")))
    assert (sums % 4 == 1).any()
    assert (sums % 4 == 3).any()
    due = np.clip(np.rint(sums / 2), -128, 127)
    for result in (exact_reference(problem, inputs), ordered_reference(problem, inputs)):
        assert np.array_equal(result.logical, due)


def test_a_factor_of_zero_leaves_nothing_out():
    problem = gemm("gemm_f32_m4n4k4_bilinear_a1_b0")
    inputs = inputs_of(problem)
    inputs["d0"].logical[0, 1, 2] = np.nan
    result = ordered_reference(problem, inputs).logical
    assert np.isnan(result[0, 1, 2])
    assert np.isnan(result).sum() == 1
