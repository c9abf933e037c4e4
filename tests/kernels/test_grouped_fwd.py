"""Grouped forward: every instance on the shapes where it goes wrong, bit for bit; split-N; refusals by both sides."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.agreement import LAYOUTS, clauses, disagreements, instance_called, instances_in, possible, runs, said
from tests.oracle import gaps
from tests.problems import convolution

from bitgate.kernel.registry import families
from bitgate.model.host_tensor import HostTensor

FAMILY = families()["grouped_fwd"]
ANY = "f16_32x32x32_a1b1c1_odd_c"
WIDE = "f16_128x64x64_a8b8c8"
POINTWISE = "f16_64x64x32_a8b8c8_1x1p0"
DENSE = "f16_64x64x64_a8b8c8_1x1s1p0"

SHAPES = {
    "axes": "g3n2k24c8_y3x2_h9x11_s2x3_d1x2_p2x0_q0x1",
    "tails": "g2n1k33c17_y3x1_h6x5_p1x0",
    "tiles": "g1n3k72c80_y2x2_h6x5_p1x0_q0x1",
    "depthwise": "g5n2k1c1_y3x3_h7x6_p1x1",
    "first layer": "g1n1k64c3_y7x7_h15x15_s2x2_p3x3",
    "all padding": "g2n1k16c16_y2x2_h3x3_p3x3",
    "pointwise": "g2n3k16c24_y1x1_h5x7",
    "pointwise, strided": "g2n3k16c24_y1x1_h5x7_s2x3",
}
OTHER = {
    "nwgc": "g2n3k16c8_y4_h19_s3_d2_p2_q1",
    "gnwc": "g2n3k16c8_y1_h19",
    "gnhwc": SHAPES["axes"],
    "ndhwgc": "g2n1k8c16_y2x3x2_h5x6x7_s2x1x3_d1x2x1_p0x2x1_q1x0x0",
    "gndhwc": "g2n2k8c16_y1x1x1_h3x4x5_s2x2x2",
}


EIGHT_BITS = sorted({i.dtypes[0] for i in FAMILY.instances} - {"f32", "f16", "bf16"})
EIGHT_BIT_SHAPES = {name: SHAPES[name] for name in ("tails", "pointwise", "axes")} | {
    "wide": "g1n2k48c80_y1x2_h5x4",
    "saturating": "g1n1k16c512_y1x1_h3x3",
}
EVERY = runs(FAMILY, [f"fwd_{dtype}_nhwgc_{shape}" for dtype in ("f32", "f16", "bf16") for shape in SHAPES.values()])
BYTES = runs(FAMILY, [f"fwd_{dtypes}_nhwgc_{shape}" for dtypes in EIGHT_BITS for shape in EIGHT_BIT_SHAPES.values()])


def test_every_instance_is_run():
    assert instances_in(EVERY) | instances_in(BYTES) == {instance.name for instance in FAMILY.instances}


@pytest.mark.parametrize(("case", "instance"), EVERY)
def test_every_instance_equals_brute_force(right, case, instance):
    for schedule in ("forward", "random:7"):
        right(FAMILY, instance, case, schedule=schedule)


@pytest.mark.parametrize(("case", "instance"), BYTES)
def test_eight_bits_equal_brute_force(right, case, instance):
    """i8, all pairs of f8 and bf8, f16 rounded to f8: any K and C, and vectors. Sums round and saturate in y's type."""
    reach = 4 if case.endswith(EIGHT_BIT_SHAPES["saturating"]) else 2
    right(FAMILY, instance, case, reach=reach, schedule="random:7")


@pytest.mark.parametrize(("case", "instance"), runs(FAMILY, ["fwd_i8_nhwgc_n1k16c2320_y1x1_h1x2"]))
def test_i8_sums_do_not_pass_through_floats(bench, case, instance):
    """1152 products of 127 * 127, then one of 1, then the first ones again, negative: f32 would lose the 1."""
    problem = convolution(case)
    x, w = (HostTensor.empty(problem.tensors[name]) for name in ("in", "wei"))
    x.logical[...] = 127
    w.logical[...] = 0
    w.logical[:, :, :1152] = 127
    w.logical[:, :, 1168:] = -127
    x.logical[:, :, 1152] = w.logical[:, :, 1152] = 1
    assert 1152 * 127**2 > 2**24
    assert (bench.run(problem, {"in": x, "wei": w}, FAMILY, instance).values == 1).all()


@pytest.mark.parametrize(
    ("case", "instance"),
    runs(FAMILY, [f"fwd_f16_{layout}_{shape}{gap}" for layout, shape in OTHER.items() for gap in ("", "_gap")]),
)
def test_layouts_and_gaps(right, case, instance):
    """Strides are honoured, and the gaps of y stay as they were."""
    outcome = right(FAMILY, instance, case)
    assert bool(gaps(outcome.result).size) == case.endswith("_gap")


OPERATED = [
    f"fwd_f32_gnhwc_{SHAPES[name]}_{op}"
    for op in ("scale", "bias", "nd1", "bilinear", "relu")
    for name in ("all padding", "pointwise")
]


@pytest.mark.parametrize(("case", "instance"), runs(FAMILY, OPERATED))
def test_operations(right, case, instance):
    right(FAMILY, instance, case)


def test_d_may_be_y_itself(right):
    """Each cell is read and then written by one thread, so D may lie where the result goes."""
    right(FAMILY, WIDE, f"fwd_f16_nhwgc_{SHAPES['tiles']}_bilinear", alias_d=True)


# ------------------------------------------------------------------------------------------------------- split-N

# An image of x and of y holds 4*4*8 cells of 2 bytes: 256 bytes a group.
SPLITS = [
    (1, "nhwgc", 6, 10**9, 1),
    (1, "nhwgc", 6, 6 * 256, 1),
    (1, "nhwgc", 6, 6 * 256 - 1, 2),
    (1, "nhwgc", 6, 512, 3),
    (1, "nhwgc", 6, 511, 6),
    (1, "nhwgc", 5, 512, 5),  # two images would fit, but do not divide five
    (1, "nhwgc", 1, 10, 1),  # one image alone is over the threshold (CK#2004)
    (1, "nhwgc", 3, 10, 3),
    (2, "nhwgc", 6, 512, 6),  # the other group's cells lie between: an image spans nearly 512 bytes
    (2, "gnhwc", 6, 512, 3),
    (3, "gnhwc", 6, 1024, 2),
    (3, "nhwgc", 4, 2048, 2),
]


@pytest.mark.parametrize("instance", [ANY, WIDE])
@pytest.mark.parametrize(("g", "layout", "n", "threshold", "chunks"), SPLITS)
def test_split_n(right, g, layout, n, threshold, chunks, instance):
    """Each chunk of each group is right, in one launch with a layer of the grid a chunk; D moves along."""
    case = f"fwd_f16_{layout}_g{g}n{n}k8c8_y3x3_h4x4_p1x1_bilinear"
    outcome = right(FAMILY, instance, case, {"split_n_bytes": str(threshold)})
    (launch,) = outcome.record.events
    assert (outcome.facts["split_n"], outcome.record.launches) == (chunks, 1)
    assert launch.grid[1:] == (g, chunks)


@pytest.mark.parametrize("instance", [ANY, WIDE, POINTWISE, DENSE])
def test_record_agrees_with_the_declaration(bench, integers, instance):
    problem = convolution("fwd_f16_nhwgc_g2n2k72c72_y1x1_h5x7")
    outcome = bench.run(problem, integers(problem), FAMILY, instance)
    predicted = FAMILY.dispatch(problem, instance_called(FAMILY, instance), {})
    assert predicted
    assert predicted.stated.items() <= outcome.record.summary().items()
    (gemm,) = outcome.gemms
    assert (gemm.m, gemm.n, gemm.k, gemm.taps) == (2 * prod(problem.output), 72, 72, (1, 1))
    assert (gemm.launched, gemm.main_loop) == (True, True)


@pytest.mark.parametrize(("instance", "blocked"), [(ANY, False), (WIDE, True)])
def test_odd_c_sums_taps_and_channels_together(bench, integers, instance, blocked):
    """Two taps of 16 channels fill one step of 32 where they merge, and take two steps where they do not."""
    problem = convolution("fwd_f16_nhwgc_n1k8c16_y1x2_h4x4")
    outcome = bench.run(problem, integers(problem), FAMILY, instance)
    assert outcome.gemms[0].main_loop is blocked


# ------------------------------------------------------------------------------------------------ what is refused


def test_chunks_are_limited_by_the_grid(bench):
    """65535 layers of a grid, as it stands in HIP and CUDA."""
    options = {"split_n_bytes": "1"}
    for n, refused in ((65535, None), (65536, "index_range")):
        problem = convolution(f"fwd_f16_nhwgc_n{n}k8c8_y1_h1")
        assert clauses(bench.library(FAMILY), problem, ANY, options) == (refused, refused)


@st.composite
def problem_texts(draw):
    """Mostly what a specialisation takes, or misses by one parameter."""
    ndim = draw(st.integers(1, 3))
    often = {"y": 1, "s": 1, "d": 1, "p": 0, "q": 0}
    numbers = {
        key: "x".join(str(draw(st.sampled_from([n, n, n, n + 1, n + 2]))) for _ in range(ndim))
        for key, n in often.items()
    }
    numbers["h"] = "x".join(str(draw(st.integers(1, 12))) for _ in range(ndim))
    channels = st.one_of(st.integers(1, 9), st.sampled_from([8, 16, 20, 64]))
    dims = f"g{draw(st.integers(1, 3))}n{draw(st.integers(1, 9))}k{draw(channels)}c{draw(channels)}"
    dtype, layout = draw(st.sampled_from(["f32", "f16", "bf16", *EIGHT_BITS])), draw(st.sampled_from(LAYOUTS[ndim]))
    gap = draw(st.sampled_from(["", "_gap", "_gapinw8", "_gapinw1_gapoutk8", "_gapweix4_gapoutw8"]))
    return f"fwd_{dtype}_{layout}_{dims}_" + "_".join(key + value for key, value in numbers.items()) + gap


@settings(max_examples=150, deadline=None)
@given(text=problem_texts(), threshold=st.integers(1, 5000))
def test_both_predicates_agree(bench, text, threshold):
    problem = possible(text)
    assert not disagreements(said(bench.library(FAMILY), problem, {"split_n_bytes": str(threshold)})), text
