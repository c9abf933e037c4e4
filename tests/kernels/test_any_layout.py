"""Tensors without channels last: copied through the workspace, and then everything is as it is with channels last."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.agreement import disagreements, instance_called, possible, said
from tests.kernels.shared import shared
from tests.problems import convolution

from bitgate.kernel.abi import AbiStatus
from bitgate.kernel.errors import KernelFailed
from bitgate.kernel.registry import families
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS

channels_last = shared("channels_last").channels_last
FAMILIES = {"bwd_data": families()["grouped_bwd_data"], "fwd": families()["grouped_fwd"]}
ANY = {"bwd_data": "{}_32x32x{}_a1b1c1", "fwd": "{}_32x32x{}_a1b1c1_odd_c"}
PASSES = tuple(FAMILIES)

# More than one tile of the transpose along cells and along channels, ragged in both; two groups and two images.
SHAPES = {
    1: "g2n2k35c9_y3_h41_s2_p1",
    2: "g2n2k9c35_y2x3_h7x9_s1x2_p1x0",
    3: "g2n2k5c7_y1x2x2_h3x4x5_s1x2x1",
}
EVERY = [(i, w, ndim) for ndim in (1, 2, 3) for i, w in product(INPUT_LAYOUTS[ndim], WEIGHT_LAYOUTS[ndim])]


def instance_of(direction: str, dtype: str) -> str:
    return ANY[direction].format(dtype, 16 if dtype == "f32" else 32)


@pytest.mark.parametrize("direction", PASSES)
@pytest.mark.parametrize(("layout", "weights", "ndim"), EVERY)
@pytest.mark.parametrize("gap", ["", "_gap"])
def test_every_layout(right, direction, layout, weights, ndim, gap):
    for dtype in ("f32", "bf16"):
        case = f"{direction}_{dtype}_{layout}_{weights}_{SHAPES[ndim]}{gap}"
        right(FAMILIES[direction], instance_of(direction, dtype), case)


@pytest.mark.parametrize("direction", PASSES)
@pytest.mark.parametrize("schedule", ["reverse", "random:7"])
def test_vectors_on_packed_copies(bench, integers, oracle, direction, schedule):
    """Rows of 9 cells are no multiple of any vector; those of the copies are."""
    problem = convolution(f"{direction}_f16_ngchw_gkcyx_g2n2k40c40_y3x3_h9x9_s2_p1_gap")
    inputs = integers(problem)
    family = FAMILIES[direction]
    wide = [i for i in family.instances if family.supports(problem, i, {}) is None and max(i.vector or (0,)) == 8]
    assert wide
    outcomes = {i.name: bench.run(problem, inputs, family, i.name, schedule=schedule).values for i in wide}
    expected = oracle(problem, inputs)
    assert [name for name, values in outcomes.items() if not np.array_equal(values, expected)] == []


@pytest.mark.parametrize("direction", PASSES)
@pytest.mark.parametrize(("layout", "weights"), [("ngchw", "gkyxc"), ("ngchw", "gkcyx"), ("nhwgc", "gkcyx")])
def test_the_workspace_is_the_sum_of_the_copies(bench, integers, direction, layout, weights):
    problem = convolution(f"{direction}_f16_{layout}_{weights}_{SHAPES[2]}")
    family, instance = FAMILIES[direction], instance_of(direction, "f16")
    copied = ["in", "out"] * (layout == "ngchw") + ["wei"] * (weights == "gkcyx")
    size = sum(-(-problem.tensors[name].elements * 2 // 256) * 256 for name in copied)
    assert bench.library(family).workspace_size(problem, instance) == size
    record = bench.run(problem, integers(problem), family, instance).record
    predicted = family.dispatch(problem, instance_called(family, instance), {})
    assert predicted
    assert record.workspace_bytes == predicted.workspace_bytes == size
    assert record.transposes == predicted.transposes == len(copied)
    assert record.launches == predicted.launches  # the GEMMs; transposes are counted beside them
    names = [event.name for event in record.events if event.name.startswith("transpose")]
    assert names == ["transpose_in"] * (len(copied) - (layout == "ngchw")) + ["transpose_out"] * (layout == "ngchw")
    for too_small in (size - 1, 0):
        with pytest.raises(KernelFailed) as failed:
            bench.run(problem, integers(problem), family, instance, workspace=too_small)
        assert failed.value.status is AbiStatus.WORKSPACE
        assert f"needs {size} bytes of workspace, {too_small} are given" in str(failed.value)


@pytest.mark.parametrize("op", ["bias", "nd1", "bilinear", "relu"])
@pytest.mark.parametrize("direction", PASSES)
def test_d_keeps_its_own_strides(right, direction, op):
    right(FAMILIES[direction], instance_of(direction, "f32"), f"{direction}_f32_ngchw_gkcyx_{SHAPES[2]}_{op}_gap")


def test_d_may_be_dx_itself(right):
    """dx is written when all is read: its copy is filled and summed into, then transposed out."""
    case = "bwd_data_f16_ngchw_gkcyx_g2n1k8c8_y2x2_h7x7_s3x3_bilinear"
    right(FAMILIES["bwd_data"], instance_of("bwd_data", "f16"), case, alias_d=True)


def test_split_k_adds_to_the_copy(right):
    case = "bwd_data_f32_ngchw_g2n2k64c16_y3x3_h9x9_s2x2_p1x1_sk3"
    outcome = right(FAMILIES["bwd_data"], instance_of("bwd_data", "f32"), case)
    assert outcome.facts["split_k"] == 3


@pytest.mark.parametrize("direction", PASSES)
def test_chunks_of_images_are_those_of_the_copies(bench, integers, oracle, direction):
    """A gap widens the tensors, not their copies: one chunk more would be predicted from the tensors."""
    problem = convolution(f"{direction}_f16_ngchw_gkcyx_g1n4k16c16_y3x3_h8x8_p1x1_gap")
    inputs = integers(problem)
    family, instance, options = FAMILIES[direction], instance_of(direction, "f16"), {"split_n_bytes": "4096"}
    outcome = bench.run(problem, inputs, family, instance, options)
    np.testing.assert_array_equal(outcome.values, oracle(problem, inputs))
    predicted = family.dispatch(problem, instance_called(family, instance), options)
    assert predicted
    assert outcome.facts["split_n"] == predicted.facts["split_n"] == 2


@pytest.mark.parametrize("direction", PASSES)
def test_copies_beyond_64_bits_are_refused(bench, direction):
    problem = convolution(f"{direction}_f32_ngchw_g2147483647n2147483647k1c2_y1x1_h2x2")
    family, instance = FAMILIES[direction], instance_of(direction, "f32")
    declared = family.supports(problem, instance_called(family, instance), {})
    answered = bench.library(family).is_supported(problem, instance)
    assert declared
    assert answered
    assert declared.clause == answered.clause == "index_range"
    assert "copies" in declared.text
    assert "copies" in answered.text


GAPS = ["", "_gap", "_gapinw8", "_gapinw1_gapoutk8", "_gapweix4_gapoutw8"]


@st.composite
def problem_texts(draw):
    ndim = draw(st.integers(1, 3))
    layout, weights = draw(st.sampled_from(INPUT_LAYOUTS[ndim])), draw(st.sampled_from(WEIGHT_LAYOUTS[ndim]))
    small = {"y": st.integers(1, 3), "h": st.integers(1, 9), "s": st.integers(1, 3), "p": st.integers(0, 2)}
    numbers = [key + "x".join(str(draw(value)) for _ in range(ndim)) for key, value in small.items()]
    channels = st.sampled_from([1, 2, 4, 7, 8, 16])
    dims = f"g{draw(st.integers(1, 2))}n{draw(st.integers(1, 3))}k{draw(channels)}c{draw(channels)}"
    direction, dtype = draw(st.sampled_from(PASSES)), draw(st.sampled_from(["f32", "f16", "bf16"]))
    return "_".join([direction, dtype, layout, weights, dims, *numbers]) + draw(st.sampled_from(GAPS))


@settings(max_examples=150, deadline=None)
@given(text=problem_texts())
def test_both_sides_agree_on_support_and_workspace(bench, text):
    problem: Any = possible(text)
    family = FAMILIES[problem.direction.value]
    library = bench.library(family)
    answers = said(library, problem)
    assert not disagreements(answers)
    taken = [instance for instance in family.instances if answers[instance.name][0] is None]
    sizes = {instance.name: library.workspace_size(problem, instance) for instance in taken}
    assert sizes == dict.fromkeys(sizes, channels_last(problem).workspace_bytes)
