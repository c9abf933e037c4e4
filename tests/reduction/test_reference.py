"""The definition of a reduction against what numpy says, its order of values, and data that show what they are for."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.model import DTYPES, Accumulation, parse_case_id
from bitgate.numerics.certificate import certify
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.ordered import ordered_reference
from bitgate.numerics.reference import exact_reference


def made(case: str, fill: str = "exact", seed: int = 0):
    problem = parse_case_id(case)
    accumulation = Accumulation(DTYPES["f32" if problem.dtypes.inp.is_float else "i32"])
    plan = plan_fill(problem, accumulation, fill, seed)
    inputs = make_inputs(problem, plan)
    return problem, inputs, certify(problem, plan, inputs, accumulation)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i8", "i32"])
def test_a_sum_is_numpys_and_the_same_in_its_stated_order(dtype):
    problem, inputs, certificate = made(f"reduction_{dtype}_o3l77i4_sum_gap")
    assert certificate.holds
    x = inputs["x"].logical.astype(np.float64)
    expected = x.sum(axis=1).astype(problem.dtypes.out.numpy)
    assert np.array_equal(exact_reference(problem, inputs).logical, expected)
    assert np.array_equal(ordered_reference(problem, inputs).logical, expected)


@pytest.mark.parametrize("fill", ["exact", "negative"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i8", "i32"])
def test_a_maximum_is_numpys(dtype, fill):
    problem, inputs, certificate = made(f"reduction_{dtype}_o30l77i4_max", fill)
    assert certificate.holds
    x = inputs["x"].logical.astype(np.float64)
    result = exact_reference(problem, inputs).logical.astype(np.float64)
    assert np.array_equal(result, x.max(axis=1))
    assert len(np.unique(result)) > 4  # a row's result is seldom its neighbour's


@pytest.mark.parametrize("case", ["f32_o16l40i3_max", "f16_o16l5i1_max", "bf16_o16l40i1_max"])
def test_by_comparisons_maxima_are_the_same_at_the_edges(case):
    problem, inputs, _ = made(f"reduction_{case}", "edges")
    exact, ordered = exact_reference(problem, inputs), ordered_reference(problem, inputs)
    assert np.array_equal(exact.bits, ordered.bits)


def test_ties_are_many_and_negative_maxima_stand_at_all_ends():
    _, inputs, _ = made("reduction_f32_o30l600i1_max")
    x = inputs["x"].logical
    assert ((x == x.max(axis=1, keepdims=True)).sum(axis=1) > 30).all()
    _, inputs, _ = made("reduction_f32_o30l600i1_max", "negative")
    x = inputs["x"].logical
    assert x.max() < 0
    assert ((x == x.max(axis=1, keepdims=True)).sum(axis=1) == 1).all()
    assert {0, 511, 512, 599} <= set(x.argmax(axis=1).ravel().tolist())


def reduced(kind: str, *rows: list[float]):
    """Values and indices of rows of f32."""
    problem = parse_case_id(f"reduction_f32_o{len(rows)}l{len(rows[0])}_{kind}")
    found = problem.operation.reference(problem, {"x": np.array(rows, np.float64)[:, :, None]})
    return {role: cells[:, 0].tolist() for role, cells in found.items()}


def test_minus_zero_is_below_zero_nan_on_top_and_the_first_wins():
    nan, inf = float("nan"), float("inf")
    found = reduced(
        "argmax", [-0.0, 0.0, 0.0], [-0.0, -0.0, -1.0], [3.0, inf, inf], [inf, nan, nan], [-inf, -inf, -inf]
    )
    assert found["index"] == [1, 0, 1, 1, 0]
    assert [str(value) for value in found["y"]] == ["0.0", "-0.0", "inf", "nan", "-inf"]


def test_edges_hold_rows_of_zeros_of_low_numbers_and_of_nan():
    problem, inputs, certificate = made("reduction_f16_o16l40i1_max", "edges")
    result = exact_reference(problem, inputs).logical.astype(np.float64).ravel()
    assert certificate.holds
    assert np.isnan(result).any()
    assert (result < -6e4).any()
    assert (result == np.inf).any()
    assert (result == 0).any()


def test_edges_hold_zeros_of_both_signs_whatever_the_cpu_sorts_by():
    _, inputs, _ = made("reduction_f16_o16l400i1_max", "edges")
    rows = inputs["x"].logical.astype(np.float64).reshape(16, 400)
    mixed = [row for row in rows if np.isposinf(row).any() and not np.isnan(row).any()]
    assert mixed
    for row in mixed:
        assert {bool(sign) for sign in np.signbit(row[row == 0])} == {False, True}
