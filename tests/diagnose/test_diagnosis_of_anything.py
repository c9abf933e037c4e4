"""No result is too odd for the rules: whatever the problem and whatever is wrong, each rule has an answer or none."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from tests.problems import convolution

from bitgate.model import F32_ACCUMULATION, operation_called
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.reference import exact_reference
from bitgate.numerics.rounding import factors
from bitgate.ops.convolution import CONVOLUTIONS, ConvProblem, Pass
from bitgate.tools.fuzz.draw import SIZES, draw_round
from bitgate.verify.diagnose import RULES, Scene, diagnose
from bitgate.verify.poison import poison_bits

LAYOUTS = ("nhwgc", "gnhwc", "ngchw")
PROBLEMS = 60 if os.environ.get("BITGATE_NIGHTLY") else 20
"""Of each pass, in nine injuries each: five seconds by day, a quarter of a minute by night."""


def injuries(problem: ConvProblem, right: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Wrong in every cell, in some, in one; wrong by numbers, by what was there before, by nothing at all."""
    poison = np.array(poison_bits(problem.tensors[problem.result].dtype), f"u{right.itemsize}").view(right.dtype)
    some = rng.random(right.shape) < 0.3
    one = np.zeros(right.shape, bool)
    one[tuple(rng.integers(length) for length in right.shape)] = True
    noise = rng.integers(1, 5, right.shape)
    values: dict[str, Any] = {"other": right.astype(np.float64) + noise, "zero": 0, "poison": poison}
    return {
        f"{what} {where}": np.where(hit, value, right).astype(right.dtype)
        for where, hit in {"everywhere": np.ones(right.shape, bool), "some": some, "one": one}.items()
        for what, value in values.items()
    }


@pytest.mark.parametrize("direction", CONVOLUTIONS)
def test_every_rule_copes_with_any_problem(direction: Pass):
    rng = np.random.default_rng(1)
    batch = draw_round(operation_called(direction).space, (1,), SIZES[0], LAYOUTS)
    for index in range(PROBLEMS):
        problem = batch.problem(index)
        copes(problem, rng)


def copes(problem: ConvProblem, rng: np.random.Generator) -> None:
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION))
    right = exact_reference(problem, inputs).logical
    operands = {name: tensor.logical for name, tensor in factors(problem, inputs).items()}
    for name, wrong in injuries(problem, right, rng).items():
        bits = poison_bits(problem.tensors[problem.result].dtype)
        scene = Scene.thinned(problem, wrong, right, poison=bits, inputs=operands, tile=(32, 32, 16))
        if scene.count:
            assert "failed_rules" not in diagnose(scene).evidence, f"{problem}: {name}"


def test_cells_without_a_term_lack_no_slice():
    """Stride 3 under a filter of one tap: two thirds of dx are sums of nothing."""
    copes(convolution("bwd_data_f16_nhwgc_g1n2k12c3_y1x1_h7x7_s3x3_sk3"), np.random.default_rng(2))


def test_a_rule_that_fails_takes_nothing_else_with_it(patient, monkeypatch):
    def split_slice(scene: Scene) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("bitgate.verify.diagnose.engine.RULES", (split_slice, *RULES))
    p = patient("fwd_f32_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1")
    p.result[...] = 0
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("zero",)
    assert diagnosis.evidence["failed_rules"] == {"split_slice": "ZeroDivisionError: division by zero"}
