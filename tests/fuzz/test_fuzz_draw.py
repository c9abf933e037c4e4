"""Rounds: the same problems for the same seed, small, and with every class of every factor common."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from bitgate.kernel.registry import select
from bitgate.model import operation_called, parse_case_id
from bitgate.model.gap import apart
from bitgate.model.space.candidates import problems_of
from bitgate.model.space.factor import Constants, classify
from bitgate.model.space.variations import with_elements_apart
from bitgate.ops.convolution import CONVOLUTIONS, Pass
from bitgate.ops.convolution.space.factors import FACTORS
from bitgate.tools.fuzz.draw import SIZES, draw_round, even
from bitgate.tools.fuzz.round import subjects

SPACES = [operation_called(direction).space for direction in CONVOLUTIONS]
FWD, BWD_DATA = (operation_called(direction).space for direction in (Pass.FWD, Pass.BWD_DATA))
LAYOUTS = ("nhwgc", "gnhwc")


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.operation.name)
def test_a_round_is_a_function_of_its_seed_and_within_its_size(space):
    for size in SIZES:
        batch: Any = draw_round(space, (7, 1), size, LAYOUTS)
        again: Any = draw_round(space, (7, 1), size, LAYOUTS)
        assert all((batch.columns()[name] == again.columns()[name]).all() for name in batch.columns())
        assert len(batch) == size.problems
        assert batch.possible.all()
        assert batch.work.max() <= size.work


def test_another_round_has_other_problems():
    first: Any
    second: Any
    first, second = (draw_round(FWD, (7, visit), SIZES[0], LAYOUTS) for visit in (0, 1))
    assert (first.input != second.input).any()


@pytest.mark.parametrize(
    "operation", ["fwd", "bwd_data", "bwd_weight", "gemm", "reduction", "softmax", "rmsnorm", "attention"]
)
def test_gaps_lie_behind_all_rows_or_behind_a_few_axes(operation):
    space = operation_called(operation).space
    rng, types = np.random.default_rng(0), [space.types("f32")]
    drawn = [space.varied(problem, types, rng) for problem in problems_of(draw_round(space, (7, 1), SIZES[1], LAYOUTS))]
    single = [problem for problem in drawn if problem.gaps]
    assert not any(problem.gap for problem in single)
    strided = sum(problem.gap for problem in drawn)
    assert 0.3 * strided < len(single) < 3 * strided
    met = {gap.tensor for problem in single for gap in problem.gaps}
    assert met == {tensor for problem in single for tensor, axes in problem.gap_orders.items() if len(axes) > 1}


def test_now_and_then_elements_of_one_tensor_lie_apart():
    norms = [parse_case_id(f"layernorm_f32_r3c{columns}_affine_gap") for columns in range(1, 601)]
    drawn = [with_elements_apart(problem) for problem in norms]
    changed = [problem for problem, before in zip(drawn, norms, strict=True) if problem != before]
    assert all(len(problem.gaps) == len(apart(problem)) == 1 and not problem.gap for problem in changed)
    assert {problem.gaps[0].tensor for problem in changed} == {"x", "gamma", "beta", "y"}
    assert 0.01 * len(norms) < len(changed) < 0.06 * len(norms)
    assert drawn == [with_elements_apart(problem) for problem in norms]


def test_classes_are_about_even():
    batch = draw_round(BWD_DATA, (1, 1), SIZES[1], LAYOUTS)
    codes = classify(batch, FACTORS[Pass.BWD_DATA], Constants())
    for column, factor in enumerate(FACTORS[Pass.BWD_DATA]):
        if factor.name in ("ndim", "g", "stride", "dilation", "pad", "filter", "k_mod_vector"):
            shares = np.bincount(codes[:, column], minlength=len(factor.classes)) / len(batch)
            reached = shares[shares > 0]
            assert reached.min() > 0.2 / len(reached), (factor.name, shares)
        if factor.name == "gemms_count":
            assert (np.bincount(codes[:, column], minlength=len(factor.classes)) > 0).all()


def test_raking_makes_independent_columns_even():
    rng = np.random.default_rng(0)
    codes = np.stack([rng.choice(3, 5000, p=[0.9, 0.08, 0.02]), rng.choice(2, 5000, p=[0.95, 0.05])], axis=1)
    weights = even(codes, rounds=20)
    for column in codes.T:
        shares = np.bincount(column, weights) / weights.sum()
        assert shares.min() > 0.8 / len(shares)


def test_draws_of_a_worker_repeat_and_meet_every_instance():
    (lane,) = dict.fromkeys(subjects(select("grouped_fwd", target="host")))
    first, again = (list(lane.cases(3, 0, "host")) for _ in range(2))
    assert first == again
    assert first != list(lane.cases(4, 0, "host"))
    met = Counter(planned.key.instance for planned in first if not planned.refused)
    assert set(met) == {instance.name for instance in lane.instances}
    for visit in range(1, 4):  # a hundred instances share a round's cases
        met.update(planned.key.instance for planned in lane.cases(3, visit, "host") if not planned.refused)
    assert min(met.values()) >= 3
    assert any(planned.refused for planned in first)
    assert any(planned.kernel.options for planned in first)
