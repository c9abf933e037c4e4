"""Fills: numpy's definition and the native library are the same function of (seed, name, logical index)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.numerics.small_convolutions import EVERY, convolutions, inputs_of, passing
from tests.oracle import exact_sums, gaps
from tests.problems import convolution

from bitgate.core.errors import UsageError
from bitgate.model import DTYPES, F32_ACCUMULATION, Accumulation, parse_case_id
from bitgate.model.host_tensor import GAP_PATTERN
from bitgate.numerics import counter
from bitgate.numerics.fill import TensorFill, definition, make_tensor, plan_fill
from bitgate.numerics.reference import exact_reference
from bitgate.ops.convolution import ConvProblem
from bitgate.ops.convolution.numerics import terms

FILLS = st.one_of(
    st.builds(TensorFill, st.just("integer"), st.integers(1, 100), st.integers(0, counter.FULL_DENSITY)),
    st.just(TensorFill("real")),
)


@given(convolutions(EVERY), FILLS, st.integers(-(2**63), 2**64 - 1), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_native_fill_equals_the_definition(problem: ConvProblem, fill: TensorFill, seed: int, threads: int) -> None:
    for tensor in problem.tensors.values():
        if fill.kind == "real" and not tensor.dtype.is_float:
            continue
        host = make_tensor(tensor, fill, seed, threads)
        assert np.array_equal(host.bits, definition(tensor, fill, seed).view(tensor.dtype.bits))
        assert np.all(gaps(host) == GAP_PATTERN)


def test_threads_and_long_rows_change_nothing() -> None:
    """Several segments and several threads."""
    for layout in ("nhwgc", "ngchw"):
        tensor = parse_case_id(f"fwd_f32_{layout}_g2n3k4c40_y1x1_h50x60").tensors["in"]
        host = make_tensor(tensor, TensorFill("integer", 2**20), 7, threads=3)
        assert np.array_equal(host.logical, definition(tensor, TensorFill("integer", 2**20), 7))


@given(convolutions(), st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_data_do_not_depend_on_layout_or_gaps(problem: ConvProblem, seed: int) -> None:
    other = problem.changed(layout={1: "ngcw", 2: "ngchw", 3: "ngcdhw"}[problem.ndim], gap=not problem.gap)
    mine, theirs = inputs_of(problem, seed=seed), inputs_of(other, seed=seed)
    for name, host in mine.items():
        assert np.array_equal(host.logical, theirs[name].logical)


def test_words_are_pinned() -> None:
    """The algorithm is fixed for ever: stored digests rest on it."""
    index = np.arange(3, dtype=np.uint64)
    assert counter.stream(0, "in") == 0x75CCF0D740B66EDD
    assert counter.integers(counter.words(counter.stream(0, "in"), index), 16, 2**32).tolist() == [7, -2, 9]


def test_values_are_the_non_zero_integers_evenly() -> None:
    words = counter.words(counter.stream(1, "wei"), np.arange(90_000, dtype=np.uint64))
    values, counts = np.unique(counter.integers(words, 4, counter.FULL_DENSITY), return_counts=True)
    assert values.tolist() == [-4, -3, -2, -1, 1, 2, 3, 4]
    assert np.all(np.abs(counts - 90_000 / 8) < 6 * np.sqrt(90_000 / 8))
    assert abs(np.mean(counter.integers(words, 4, 2**30) != 0) - 0.25) < 0.01


def test_names_and_seeds_give_different_data() -> None:
    streams = {counter.stream(seed, name) for seed in range(50) for name in ("in", "wei", "out", "d0")}
    assert len(streams) == 200


def test_large_16_bit_outputs_are_rounded_but_do_not_overflow() -> None:
    for dtype in ("f16", "bf16"):
        problem = parse_case_id(f"bwd_data_{dtype}_nhwgc_n1k256c8_y3x3_h6x6_p1x1")
        inputs = inputs_of(problem)
        wide = {name: host.logical.astype(np.float64) for name, host in inputs.items()}
        sums = np.einsum("gnkyx,gkcij->gncyx", wide["out"][..., :4, :4], wide["wei"][..., 1:2, 1:2])
        assert np.abs(sums).max() < 65504
        assert np.abs(sums * 3).max() > DTYPES[dtype].exact_integer


def test_f64_data_exceed_f32() -> None:
    plan = plan_fill(parse_case_id("fwd_f64_nwgc_n1k1c8_y3_h8"), Accumulation(DTYPES["f64"]))
    assert all(own.range > 2**18 for _, own in plan.tensors)


def test_i8_outputs_seldom_saturate() -> None:
    for case in ("fwd_i8_nhwgc_n1k32c64_y3x3_h10x10", "bwd_weight_i8_nhwgc_n8k8c8_y3x3_h30x30"):
        problem = parse_case_id(case)
        result = exact_reference(problem, inputs_of(problem)).logical
        assert np.mean((result == -128) | (result == 127)) < 0.2


@given(convolutions(("f32",)))
@settings(max_examples=60, deadline=None)
def test_no_cell_sums_more_products_than_are_planned_for(problem: ConvProblem) -> None:
    problem = passing(problem)
    ones = inputs_of(problem)
    for host in ones.values():
        host.logical[...] = 1
    assert exact_sums(problem, ones).max() <= terms(problem) <= problem.reduction


def test_taps_of_other_residue_classes_do_not_count() -> None:
    for spatial, taps in (("y3x3_h28x28_s3x3_p1x1", 1), ("y5x5_h28x28_s2x2_p1x1", 9), ("y3x3_h28x28_d2x2_s2x2", 9)):
        assert terms(convolution(f"bwd_data_f32_nhwgc_n1k16c16_{spatial}")) == 16 * taps


def test_an_unknown_fill_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown fill 'exakt': did you mean 'exact'.*decimal"):
        plan_fill(parse_case_id("fwd_f32_nwgc_n1k1c1_y1_h1"), F32_ACCUMULATION, "exakt")
