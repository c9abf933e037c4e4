"""One-hot data: each result cell is at most one product, and the receptive field is the formula's."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.numerics.small_convolutions import EVERY, convolutions, inputs_of
from tests.numerics.small_gemms import gemms
from tests.oracle import sums, terms, whole

from bitgate.model import DTYPES, Accumulation, parse_case_id
from bitgate.numerics.certificate import certify
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.one_hot import ones, product_of_ones
from bitgate.numerics.rounding import factors
from bitgate.ops.convolution import ConvProblem
from bitgate.ops.gemm import GemmProblem

SEEDS = st.integers(0, 3)


def hot_operand(problem: ConvProblem | GemmProblem, seed: int) -> tuple[str, str]:
    first, second = sorted(problem.operands, key=lambda name: name == "wei")
    return (first, second) if seed % 2 == 0 else (second, first)


@settings(max_examples=60, deadline=None)
@given(convolutions(EVERY), SEEDS)
def test_ones_never_meet_and_the_other_operand_is_never_zero(problem: ConvProblem, seed: int) -> None:
    inputs = inputs_of(problem, "probe", seed)
    hot, other = hot_operand(problem, seed)
    shared = list(problem.operation.numerics.shared_axes(problem, hot))
    places = np.argwhere(inputs[hot].logical != 0)
    pairs = {tuple(place[shared]) for place in places}
    assert len(pairs) == len(places) == np.prod([inputs[hot].tensor.lengths[axis] for axis in shared])
    assert (inputs[hot].logical[tuple(places.T)] == 1).all()
    assert (inputs[other].logical > 0).all()


@settings(max_examples=50, deadline=None)
@given(st.one_of(convolutions(), gemms(("f32", "i8"))), SEEDS)
def test_the_changed_cells_are_the_receptive_field(problem: ConvProblem | GemmProblem, seed: int) -> None:
    """Of a GEMM: one row or column for each one."""
    inputs = inputs_of(problem, "probe", seed)
    hot, other = hot_operand(problem, seed)
    found = sums(problem, whole(factors(problem, inputs)))
    due = np.zeros_like(found)
    for one in ones(problem, hot, seed):
        for cell in product(*map(range, due.shape)):
            element = problem.operation.numerics.met(problem, hot, tuple(int(i) for i in one), cell)
            if element is not None:
                due[cell] += product_of_ones(problem) * int(inputs[other].logical[element])
    assert np.array_equal(found, due)


@given(convolutions())
@settings(max_examples=40, deadline=None)
def test_met_is_the_index_relation(problem: ConvProblem) -> None:
    """For each product of the formula, any two of its elements determine the third."""
    for position, tap, cell in list(terms(problem))[:20]:
        places = {"in": (0, 0, 0, *cell), "wei": (0, 0, 0, *tap), "out": (0, 0, 0, *position)}
        for hot in problem.operands:
            other = next(name for name in problem.operands if name != hot)
            found = problem.operation.numerics.met(problem, hot, places[hot], places[problem.result])
            assert found == places[other]


@settings(max_examples=60, deadline=None)
@given(convolutions(EVERY), SEEDS)
def test_every_probe_is_certified(problem: ConvProblem, seed: int) -> None:
    """Even where partial sums are rounded to bf16: there is one term in a cell, and it fits."""
    accumulation = Accumulation(DTYPES["i32" if problem.dtypes.out.name == "i8" else "f32"], DTYPES["bf16"])
    plan = plan_fill(problem, accumulation, "probe", seed)
    certificate = certify(problem, plan, make_inputs(problem, plan), accumulation)
    assert certificate.holds, certificate


@pytest.mark.parametrize(("dtype", "values"), [("f32", 16777213), ("f16", 2039), ("bf16", 251), ("i8", 127)])
def test_values_are_as_many_as_the_types_hold(dtype: str, values: int) -> None:
    problem = parse_case_id(f"fwd_{dtype}_nhwgc_g1n1k64c64_y3x3_h8x8_p1x1")
    plan = plan_fill(problem, Accumulation(DTYPES["i32" if dtype == "i8" else "f32"]), "probe")
    assert plan.of("wei").range == values


def test_seeds_take_turns_with_the_operands() -> None:
    expected = {"fwd": ["in", "wei"], "bwd_data": ["out", "wei"], "bwd_weight": ["in", "out"]}
    for name, operands in expected.items():
        problem = parse_case_id(f"{name}_f32_nhwgc_g2n2k3c4_y3x3_h8x8_p1x1")
        for seed in range(4):
            zeros = [n for n, host in inputs_of(problem, "probe", seed).items() if (host.logical == 0).any()]
            assert zeros == [operands[seed % 2]]
