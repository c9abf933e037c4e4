"""The naive references against brute force, in every pass, type, dimension, layout and operation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.oracle import gaps
from tests.problems import convolution

from bitgate.model import F32_ACCUMULATION
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.ordered import ordered_reference

PASSES = ("fwd", "bwd_data", "bwd_weight")
DTYPES = ("f64", "f32", "f16", "bf16", "i8")
SHAPES = (
    "nhwgc_g2n2k4c3_y3x2_h7x6_s2x1_d1x2_p1x0_q0x2",  # groups, dilation, pads that differ, on each axis otherwise
    "nwgc_g1n2k3c4_y3_h9_s2",
    "ngcw_g2n2k3c4_y3_h9_s2_p2",
    "ndhwgc_g1n2k3c2_y2_h4",
    "gndhwc_g2n1k2c3_y1x2x3_h3x4x5_s1x2x2_p0x1x1_gap",
    "gnhwc_gkcyx_g2n2k4c3_y2_h6x6_nd1_gap",
    "nhwgc_g2n1k4c3_y2_h6x6_bilinear",
    "nhwgc_g2n1k4c3_y2_h6x6_bias",
    "nhwgc_n2k4c3_y2_h6x6_relu",
    "nhwgc_n2k4c3_y1_h6x6_s3_scale",
)


@pytest.mark.parametrize("direction", PASSES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_brute_force_on_integers(right, direction, dtype):
    for shape in SHAPES:
        right("naive_conv", f"{direction}_{dtype}", f"{direction}_{dtype}_{shape}")


@pytest.mark.parametrize("direction", PASSES)
@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_sums_in_the_stated_order(bench, direction, dtype):
    """On data whose sums round differently in any other order, the bits are those of the ordered reference."""
    problem = convolution(f"{direction}_{dtype}_nhwgc_g2n2k17c13_y3x2_h9x8_s2x1_d1x2_p1x0_q0x2_bilinear")
    generator = np.random.default_rng(1)
    inputs = {}
    for name, tensor in problem.tensors.items():
        if name != problem.result:
            inputs[name] = HostTensor(tensor, generator.standard_normal(tensor.space).astype(tensor.dtype.numpy))
    outcome = bench.run(problem, inputs, "naive_conv", f"{direction}_{dtype}")
    np.testing.assert_array_equal(outcome.result.bits, ordered_reference(problem, inputs).bits)


MIXED = (
    "f8ocp",
    "bf8ocp",
    "f8fnuz",
    "bf8fnuz",
    *(
        f"{i}{flavour}_{w}{flavour}_f8{flavour}"
        for flavour in ("ocp", "fnuz")
        for i, w in (("bf8", "bf8"), ("f8", "bf8"))
    ),
    "bf8ocp_f8ocp_f8ocp",
    "bf8fnuz_f8fnuz_f8fnuz",
    *(f"f16_ct{compute}" for compute in ("f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz")),
)


@pytest.mark.parametrize("fill", ["exact", "decimal", "special"])
@pytest.mark.parametrize("types", MIXED)
def test_8_bit_types_equal_the_ordered_reference(bench, types, fill):
    """Saturated cells, NaN and rounded operands among them; through every operation on operands and result."""
    for direction, op in zip(
        PASSES * 2, ("bilinear_weiscale", "scale_weirelu", "nd1_inscale", "", "", "inrelu"), strict=True
    ):
        assert_equals_ordered(bench, direction, types, fill, op)


@pytest.mark.parametrize("fill", ["exact", "decimal", "special"])
@pytest.mark.parametrize(
    ("direction", "factors"),
    [("fwd", ("in{f8}", "wei{bf8}")), ("bwd_data", ("wei{f8}", "out{bf8}")), ("bwd_weight", ("in{f8}", "out{bf8}"))],
)
def test_operands_of_one_type_are_multiplied_in_two(bench, direction, factors, fill):
    for flavour, sums in product(("ocp", "fnuz"), ("cell", "tile", "small_tile")):
        types = "_ct".join(("f16", *factors)).format(f8=f"f8{flavour}", bf8=f"bf8{flavour}")
        for op in ("", "scale", "bilinear"):
            assert_equals_ordered(bench, direction, types, fill, op, {"sums": sums})


def assert_equals_ordered(bench, direction, types, fill, op, options=None):
    problem = convolution(f"{direction}_{types}_nhwgc_g2n2k7c5_y3x2_h9x8_s2x1_d1x2_p1x0_q0x2" + f"_{op}" * bool(op))
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill))
    result = bench.run(problem, inputs, "naive_conv", f"{direction}_{types}", options or {}).result
    expected = ordered_reference(problem, inputs)
    nan = np.isnan(result.logical) & np.isnan(expected.logical)
    assert ((result.bits == expected.bits) | nan).all(), problem


def test_weights_in_f32(bench):
    problem = convolution("bwd_weight_bf16_f32_bf16_nhwgc_g2n2k7c5_y3_h9_p1_bilinear_inscale")
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "decimal"))
    result = bench.run(problem, inputs, "naive_conv", "bwd_weight_bf16_f32_bf16").result
    np.testing.assert_array_equal(result.bits, ordered_reference(problem, inputs).bits)


@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_go_through_their_operations(bench, integers, oracle, dtype):
    for case in (
        "fwd_{}_nhwgc_n2k4c3_y2_h6_{}",
        "bwd_data_{}_nhwgc_n2k4c3_y2_h6_{}",
        "bwd_weight_{}_nhwgc_n2k4c3_y2_h6_{}",
    ):
        operand = "in" if case.startswith("bwd_weight") else "wei"
        for op, by_hand in (("scale", lambda v: 2 * v), ("relu", lambda v: np.maximum(v, 0))):
            problem = convolution(case.format(dtype, operand + op))
            inputs = integers(problem)
            values = bench.run(problem, inputs, "naive_conv", f"{problem.direction}_{dtype}").values
            inputs[operand].logical[...] = by_hand(inputs[operand].logical.astype(np.float64)).astype(
                inputs[operand].storage.dtype
            )
            np.testing.assert_array_equal(values, oracle(convolution(case.format(dtype, "pass")), inputs))


def test_i8_saturates(bench, integers, oracle):
    problem = convolution("fwd_i8_nhwgc_n1k4c32_y3_h5x5_p1")
    inputs = integers(problem, reach=60)
    values = bench.run(problem, inputs, "naive_conv", "fwd_i8").values
    np.testing.assert_array_equal(values, oracle(problem, inputs))
    assert {values.min(), values.max()} == {-128, 127}


def test_more_cells_than_threads(bench, integers, oracle):
    """The grid strides over cells past its 1024 blocks of 256 threads."""
    problem = convolution("bwd_data_f32_nhwgc_n2k1c8_y1_h130x131")
    assert problem.tensors["in"].elements > 1024 * 256
    inputs = integers(problem)
    np.testing.assert_array_equal(
        bench.run(problem, inputs, "naive_conv", "bwd_data_f32").values, oracle(problem, inputs)
    )


def test_gaps_stay_untouched(bench, integers):
    problem = convolution("bwd_data_f16_nhwgc_g2n2k4c3_y3_h6x6_p1_gap")
    outcome = bench.run(problem, integers(problem), "naive_conv", "bwd_data_f16")
    assert gaps(outcome.result).size


def test_record_says_what_ran(bench, integers):
    problem = convolution("bwd_weight_f32_nhwgc_g2n2k4c3_y3_h6x6_p1")
    outcome = bench.run(problem, integers(problem), "naive_conv", "bwd_weight_f32")
    record = outcome.record
    assert (record.path, record.launches, record.facts["split_k"], record.zero_fill) == ("naive", 1, 1, False)
    (gemm,) = outcome.gemms
    assert (gemm.m, gemm.n, gemm.k, gemm.launched) == (4, 3 * 9, 2 * 36, True)
    (event,) = record.events
    assert event.name == "naive_bwd_weight"
    assert [is_pointer for _, _, is_pointer in event.args] == [True, True, True, True, False]
