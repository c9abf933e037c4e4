"""Numerics of a GEMM alone, held against the definition: sums of fractions, fma by hand, every product by name."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.bounded import bounded_reference
from tests.numerics.small_convolutions import EVERY, MIXED, inputs_of, stored_values
from tests.numerics.small_gemms import gemms
from tests.oracle import after, expected, gaps, sums, whole

from bitgate.model import DTYPES, ELEMENTWISE, Accumulation, parse_case_id
from bitgate.model.host_tensor import GAP_PATTERN
from bitgate.numerics import checksum
from bitgate.numerics.certificate import certify, measure_bound, silent_indices
from bitgate.numerics.checksum import WeightPlan
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.ordered import accumulator_of, ordered_reference
from bitgate.numerics.reference import exact_reference
from bitgate.numerics.rounding import factors
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.gemm import GemmProblem

PASS = ELEMENTWISE["pass"]


@given(gemms((*EVERY, *MIXED)), st.integers(0, 3))
@settings(max_examples=120, deadline=None)
def test_both_references_are_the_matrix_product_rounded_once(problem: GemmProblem, seed: int) -> None:
    inputs = inputs_of(problem, seed=seed)
    own = problem.tensors["out"].dtype
    for result in (exact_reference(problem, inputs, 2), ordered_reference(problem, inputs)):
        assert np.array_equal(result.bits, expected(problem, inputs).view(own.bits))
        assert np.all(gaps(result) == GAP_PATTERN)


def as_convolution(problem: GemmProblem) -> ConvProblem:
    """The same data as a 1x1 convolution over images of one cell: N = M, K = N, C = K."""
    one, none = (1,), (0,)
    batch, (m, n, k) = problem.batch, problem.sizes
    ops: dict[str, Any] = {"op": problem.op, "in_op": problem.in_op, "wei_op": problem.wei_op, "d_form": problem.d_form}
    return ConvProblem(
        Pass.FWD, "gnwc", "gkxc", batch, m, n, k, one, one, one, one, none, none, dtypes=problem.dtypes, **ops
    )


@given(gemms((*EVERY, *MIXED)), st.sampled_from(["exact", "decimal", "special", "probe"]), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_a_convolution_of_one_cell_gives_the_same_numerics(problem: GemmProblem, fill: str, seed: int) -> None:
    """What a GEMM was before it was one: stored digests rest on it."""
    assume(not problem.d_form.layout and not problem.d_form.broadcast)  # they name axes
    twin = as_convolution(problem)
    seed = 2 * seed if fill == "special" else seed  # a convolution may be padded, a GEMM is not: odd seeds differ
    accumulation = Accumulation(accumulator_of(problem))
    plan = plan_fill(problem, accumulation, fill, seed)
    assert plan == plan_fill(twin, accumulation, fill, seed)
    mine, theirs = make_inputs(problem, plan), make_inputs(twin, plan)
    if fill != "probe":  # an image of one cell has edges, and draws them
        for name, host in mine.items():
            assert np.array_equal(host.bits, theirs[name].bits[..., 0])
        assert certify(problem, plan, mine, accumulation) == certify(twin, plan, theirs, accumulation)
        assert np.array_equal(ordered_reference(problem, mine).bits, ordered_reference(twin, theirs).bits[..., 0])
        if problem.tensors["out"].dtype.is_float:
            bounds, others = (
                bounded_reference(p, data, accumulation)[1] for p, data in ((problem, mine), (twin, theirs))
            )
            for field in ("value", "slack", "exact", "open", "nan"):
                assert np.array_equal(getattr(bounds, field), getattr(others, field)[..., 0], equal_nan=True), field


def fma(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    """One rounding of a * b + c: to f64 with the lost part in the last bit, then to f32."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = np.float64(exact.numerator / exact.denominator)
    if Fraction(float(near)) != exact and not near.view(np.uint64) & 1:
        toward = np.inf if Fraction(float(near)) < exact else -np.inf
        near = np.nextafter(near, toward)
    return np.float32(near)


@given(st.integers(0, 9))
@settings(max_examples=10, deadline=None)
def test_the_ordered_reference_sums_k_ascending_by_fma(seed: int) -> None:
    problem = parse_case_id("gemm_f32_crr_b2m3n2k17")
    inputs = inputs_of(problem, "decimal", seed)
    a, b = inputs["in"].logical, inputs["wei"].logical
    result = ordered_reference(problem, inputs).logical
    for batch, m, n in product(range(2), range(3), range(2)):
        acc = np.float32(0)
        for k in range(17):
            acc = fma(a[batch, m, k], b[batch, n, k], acc)
        assert result[batch, m, n] == acc


@pytest.mark.parametrize("case", ["gemm_f32_rcr_b1m67n35k40", "gemm_f16_crr_b3m7n5k9_relu", "gemm_i8_ccr_b2m33n8k64"])
def test_parts_side_by_side_change_nothing(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = parse_case_id(case)
    inputs = inputs_of(problem)
    whole_at_once = exact_reference(problem, inputs, 1)
    monkeypatch.setattr("bitgate.ops.gemm.reference.PARALLEL_FLOPS", 0)
    for threads in (2, 3, 8):
        assert np.array_equal(exact_reference(problem, inputs, threads).bits, whole_at_once.bits)


@given(gemms(("f64", "f32", "f16", "bf16")), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_no_sum_of_magnitudes_exceeds_the_bound(problem: GemmProblem, seed: int) -> None:
    multiplied = factors(problem, inputs_of(problem, seed=seed))
    cells = {name: np.abs(values) for name, values in whole(multiplied).items()}
    assert after(problem, sums(problem, cells), cells.get("d0", 0)).max() <= measure_bound(problem, multiplied).value


@given(gemms(("f32",)), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_silent_reduction_indices_are_counted(problem: GemmProblem, seed: int) -> None:
    inputs = {name: host for name, host in inputs_of(problem, seed=seed).items() if name != "d0"}
    for name, host in inputs.items():
        host.logical[...] *= np.random.default_rng([seed, len(name)]).integers(0, 2, host.logical.shape)
    heard = (inputs["in"].logical != 0).any(axis=1) & (inputs["wei"].logical != 0).any(axis=1)
    assert silent_indices(problem, inputs) == (heard.size - heard.sum(), problem.batch * problem.k)


@pytest.mark.parametrize("chunk", [1, 40])
def test_a_checksum_some_rows_at_a_time_is_the_same(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = parse_case_id("gemm_f32_rcr_b2m9n5k7")
    weights, values = WeightPlan.of(problem.tensors["out"]), stored_values(inputs_of(problem))
    at_once = checksum.expected(problem, weights, values)
    monkeypatch.setattr("bitgate.ops.gemm.numerics.CHUNK", chunk)
    assert checksum.expected(problem, weights, values) == at_once


def test_many_terms_lower_the_range_and_say_so() -> None:
    contract = Accumulation(DTYPES["f32"], partial=DTYPES["bf16"])
    plan = plan_fill(parse_case_id("gemm_bf16_rcr_b1m8n8k1024"), contract)
    assert plan.note.startswith("range lowered to 1 x 1; density lowered")
