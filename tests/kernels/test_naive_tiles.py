"""The tiled naive kernels give the bits of those with one thread a cell: same terms, same order, whatever the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.problems import convolution

from bitgate.model import F32_ACCUMULATION, ProblemError
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.ops.convolution import ConvProblem

PASSES = ("fwd", "bwd_data", "bwd_weight")
DTYPES = ("f64", "f32", "f16", "bf16", "i8", "f8ocp", "bf8fnuz", "f16_ctf8ocp")


def alike(bench, problem: ConvProblem, fill: str) -> None:
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill))
    instance = f"{problem.direction}_{problem.dtypes.canonical}"
    cell = bench.run(problem, inputs, "naive_conv", instance, {"sums": "cell"})
    for sums in ("tile", "small_tile"):
        tile = bench.run(problem, inputs, "naive_conv", instance, {"sums": sums})
        # Which of several NaN gives its bits to a sum is the compiler's choice: NaN is a class.
        same = cell.result.bits == tile.result.bits
        assert np.all(same | (np.isnan(cell.values) & np.isnan(tile.values))), sums
        assert tile.record.path == "naive"


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(PASSES),
    st.sampled_from(DTYPES),
    st.sampled_from(["nhwgc", "gnhwc", "ngchw"]),
    st.tuples(*[st.integers(1, 3)] * 2),
    st.tuples(*[st.sampled_from([1, 3, 16, 17, 33, 64, 65, 70])] * 2),
    st.tuples(*[st.integers(1, 3)] * 10),
    st.tuples(*[st.integers(0, 9)] * 2),
    st.sampled_from(["", "_gap", "_bilinear", "_bias", "_relu"]),
)
def test_any_problem(bench, direction, dtype, layout, groups, channels, small, rest, more):
    f0, f1, s0, s1, d0, d1, p0, p1, q0, q1 = small
    heights = [(f - 1) * d + 1 + r for f, d, r in zip((f0, f1), (d0, d1), rest, strict=True)]
    (g, n), (k, c) = groups, channels
    shape = f"g{g}n{n}k{k}c{c}_y{f0}x{f1}_h{heights[0]}x{heights[1]}_s{s0}x{s1}_d{d0}x{d1}_p{p0 - 1}x{p1 - 1}"
    try:
        problem = convolution(f"{direction}_{dtype}_{layout}_{shape}_q{q0 - 1}x{q1 - 1}{more}")
    except ProblemError:
        reject()
    alike(bench, problem, "decimal")


@pytest.mark.parametrize("direction", PASSES)
@pytest.mark.parametrize("fill", ["special", "codes"])
def test_special_values(bench, direction, fill):
    """No term is replaced by one with a zero: beside an infinity or a negative zero that would show."""
    alike(bench, convolution(f"{direction}_f16_nhwgc_g1n2k40c24_y3x3_h8x9_s2x1_p1x1"), fill)


@pytest.mark.parametrize("direction", PASSES)
def test_one_dimension_and_three(bench, direction):
    alike(bench, convolution(f"{direction}_f32_nwgc_g2n3k20c18_y3_h19_s2_p1"), "decimal")
    alike(bench, convolution(f"{direction}_bf16_ndhwgc_g1n2k18c20_y2x3x2_h4x5x6_s1x2x3_p1x1x0"), "decimal")


def test_steps_beyond_a_stride_as_long_as_the_image(bench):
    """Residues of one position each: every tile but those of four taps has no term."""
    alike(bench, convolution("bwd_data_f16_nhwgc_g1n3k20c24_y2x2_h9x9_s9x9"), "decimal")


def test_places_of_a_reduction_are_worked_out_in_pieces(bench):
    """256 at a time: 255, 256, 257 and 513 positions."""
    for length in (255, 256, 257, 513):
        alike(bench, convolution(f"bwd_weight_f32_nwgc_g1n1k18c20_y1_h{length}"), "decimal")


def test_a_reduction_of_many_steps_ends_where_it_should(bench):
    for c in (15, 16, 17, 31, 32, 33):
        alike(bench, convolution(f"fwd_f32_nhwgc_g1n1k66c{c}_y1x2_h3x25_p0x1"), "decimal")
