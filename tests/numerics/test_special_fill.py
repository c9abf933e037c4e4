"""The fills at the edges of the types: what they hold, and what they leave finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.numerics.small_convolutions import EVERY, convolutions
from tests.problems import convolution

from bitgate.model import DTYPES, Accumulation, Problem, parse_case_id
from bitgate.numerics.fill import definition, make_inputs, plan_fill
from bitgate.numerics.ordered import accumulator_of, ordered_reference
from bitgate.numerics.special import specials
from bitgate.ops.convolution import ConvProblem

SHAPE = "nhwgc_g2n2k6c5_y3x2_h7x9_s2x1_d1x2_p1x2_q0x1"
TYPES = (*EVERY, "bf16_f32_bf16", "bf8ocp_f8ocp_f8ocp", "f8fnuz_bf8fnuz_f8fnuz", "f16_ctf8ocp", "f16_ctbf8fnuz")


def special_inputs(problem: Problem, seed: int = 0, fill: str = "special"):
    plan = plan_fill(problem, Accumulation(accumulator_of(problem)), fill, seed)
    return plan, make_inputs(problem, plan)


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight"])
def test_every_special_appears_and_most_results_are_finite(direction, types):
    problem = convolution(f"{direction}_{types}_{SHAPE}")
    _, inputs = special_inputs(problem)
    padded = "out" if direction == "bwd_data" else "in"
    for name in problem.operands:
        found = set(inputs[name].bits.reshape(-1).tolist())
        dtype = problem.tensors[name].dtype
        wanted = specials(dtype, problem.multiplicand(name))
        assert {s.bits for s in wanted if s.finite or name == padded} <= found, name
        # Padding's zeros may meet this operand: 0 * inf must not come up.
        if name != padded and dtype.is_float:
            assert np.isfinite(inputs[name].logical.astype(np.float64)).all()
    result = ordered_reference(problem, inputs).logical.astype(np.float64)
    assert np.isfinite(result).mean() > 0.5
    if problem.dtypes.inp.is_float:
        assert np.isnan(result).any()


def test_the_types_name_their_edges():
    names = {name: {s.name for s in specials(DTYPES[name], DTYPES[name])} for name in EVERY}
    assert {"nan", "inf", "-inf", "-0", "0", "largest", "smallest", "largest subnormal"} <= names["f16"]
    assert "inf" not in names["f8ocp"], "infinity is NaN there"
    assert "-0" not in names["f8fnuz"], "there is none"
    assert names["i8"] == {"largest", "lowest", "-largest", "0"}
    assert "factor's largest" in {s.name for s in specials(DTYPES["f16"], DTYPES["f8ocp"])}


@given(convolutions(EVERY))
@settings(max_examples=60, deadline=None)
def test_any_shape_can_be_filled_as_the_definition_says(problem: ConvProblem) -> None:
    for fill in ("special", "codes"):
        plan, inputs = special_inputs(problem, 3, fill)
        for name, host in inputs.items():
            stored = definition(problem.tensors[name], plan.of(name), 3).view(host.bits.dtype)
            assert np.array_equal(host.bits, stored)


def test_other_seeds_place_other_numbers():
    problem = convolution(f"fwd_f16_{SHAPE}")
    first, second = (special_inputs(problem, seed)[1]["in"].bits for seed in (0, 1))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(("case", "turns"), [("gemm_f16_rcr_b2m33n17k20", True), (f"fwd_f16_{SHAPE}", False)])
def test_without_padding_another_seed_has_nan_on_the_other_side(case: str, turns: bool) -> None:
    """Else a kernel that leaves out what it multiplies by a zero of one operand would never be seen."""
    problem: Any = parse_case_id(case)
    for seed in (0, 1):
        _, inputs = special_inputs(problem, seed)
        endless = [name for name in problem.operands if not np.isfinite(inputs[name].logical.astype(np.float64)).all()]
        assert endless == [problem.operands[seed if turns else 0]]
        assert np.isfinite(ordered_reference(problem, inputs).logical.astype(np.float64)).mean() > 0.3


@pytest.mark.parametrize("name", ["f16", "bf16", "i8", "f8ocp", "bf8fnuz"])
def test_codes_run_through_every_pattern_where_there_is_room(name):
    side = 256 if DTYPES[name].bytes == 2 else 16
    problem = convolution(f"fwd_{name}_nhwgc_n1k2c1_y1_h{side}")
    _, inputs = special_inputs(problem, 0, "codes")
    patterns = inputs["in"].bits.reshape(-1)
    assert len(np.unique(patterns)) == len(patterns) == side * side
