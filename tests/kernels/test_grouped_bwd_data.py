"""Grouped backward data: every instance on the shapes where a decomposition goes wrong, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.agreement import instance_called, instances_in, runs
from tests.oracle import gaps
from tests.problems import convolution

from bitgate.kernel.registry import families
from bitgate.ops.convolution import gemms_count, sub_gemms

FAMILY = families()["grouped_bwd_data"]
DTYPES = ("f32", "f16", "bf16")

# Shapes A, B, N are CK's (as of ROCm/rocm-libraries#7732), R fills the holes between them.
SHAPES = {
    "A2": "g2n1k16c16_y3x3_h28x28_s6x6_p1x1",  # 36 classes, 9 with a tap
    "A4": "g2n1k16c16_y4x8_h28x28_s4x8_p1x1",  # 32 sub-GEMMs, trailing columns never written
    "A9": "g2n2k32c32_y2x2_h12x12_s3x3",
    "A12": "g1n1k1c32_y8x8_h16x16_p1x1",
    "A13": "g1n1k64c3_y8x8_h16x16_p1x1",
    "A14": "g1n1k1c1_y8x8_h16x16_p1x1",
    "N2": "g1n1k128c64_y3x3_h28x28_s3x3_p1x1",  # 9 sub-GEMMs
    "N3": "g1n2k64c64_y6x6_h28x28_s6x6_p1x1",  # 36 sub-GEMMs, 2 buckets
    "R1": "g1n2k16c16_y2x2_h12x12_s2x2_d2x2",
    "R2": "g1n1k16c16_y1x31_h3x64_s1x31",
    "R3": "g1n1k16c16_y4x8_h12x24_s4x8",
    "R4": "g1n1k16c16_y3x11_h9x33_s3x11",
    "R5": "g1n1k16c16_y8x8_h24x24_s8x8",
    "R6": "g1n1k16c16_y5x13_h15x39_s5x13",
    "R7": "g1n2k16c16_y3x3_h17x17_s4x4_d2x2_p1x1",
    "R8": "g1n2k16c16_y4x4_h31x31_s6x6_d4x4_p2x2",
    "R9": "g3n2k24c8_y3x2_h13x17_s2x3_d1x2_p2x0_q0x1",
    "R10": "g1n2k12c16_y3x3_h10x10_p1x1",
    "R11": "g1n2k9c8_y1x1_h9x9_s2x2",
    "R12": "g2n1k16c16_y2x2_h5x5_p3x3",
    "R13": "g1n2k16c16_y3x3_h5x5_s7x7_p1x1",
    "R14": "g1n4k32c16_y1x1_h2x2_s2x2",
    "R15": "g1n1k16c16_y2x2_h5x5_s2x2",
    "R16": "g1n2k16c16_y3x3_h10x11_s2x2_p0x2_q2x0",
}
VOLUMES = {
    "B4": "g2n1k32c32_y1x2x2_h1x12x12_s1x3x3",
    "B5": "g2n1k32c32_y1x2x2_h1x12x12_s1x2x2_d1x2x2",
    "B7": "g1n1k64c3_y3x3x3_h4x6x6_p1",
}
LINES = {"stride": "g2n2k16c8_y3_h17_s2_p1", "dilation": "g1n2k8c16_y4_h19_s6_d4_p2"}


def problems(dtype, shapes, layout):
    return {name: convolution(f"bwd_data_{dtype}_{layout}_{shape}") for name, shape in shapes.items()}


def instances(dtype):
    return [instance for instance in FAMILY.instances if instance.dtypes == (dtype,)]


def cases(dtype, shapes, layout="nhwgc", ending=""):
    return [f"bwd_data_{dtype}_{layout}_{shape}{ending}" for shape in shapes]


EVERY = runs(FAMILY, [case for dtype in DTYPES for case in cases(dtype, SHAPES.values())])


def test_every_instance_is_run():
    assert instances_in(EVERY) == {instance.name for dtype in DTYPES for instance in instances(dtype)}


@pytest.mark.parametrize(("case", "instance"), EVERY)
def test_every_instance_equals_brute_force(right, case, instance):
    for schedule in ("forward", "reverse", "random:7"):
        right(FAMILY, instance, case, schedule=schedule)


PLANES = {name: SHAPES[name] for name in ("R9", "A9")}


LAYOUTS = [("gnhwc", PLANES), ("nwgc", LINES), ("gnwc", LINES), ("ndhwgc", VOLUMES), ("gndhwc", VOLUMES)]


@pytest.mark.parametrize(
    ("case", "instance"),
    runs(FAMILY, [case for layout, shapes in LAYOUTS for case in cases("f16", shapes.values(), layout)]),
)
def test_every_layout(right, case, instance):
    right(FAMILY, instance, case)


UNOWNED = [SHAPES[name] for name in ("R7", "R9", "R11")]
ENDINGS = [f"_{op}{gap}" for op in ("scale", "bias", "nd1", "bilinear", "relu") for gap in ("", "_gap")]


@pytest.mark.parametrize(
    ("case", "instance"), runs(FAMILY, [case for ending in ENDINGS for case in cases("f32", UNOWNED, ending=ending)])
)
def test_operations_reach_cells_that_no_sub_gemm_owns(right, case, instance):
    """In R7 and R11 most of dx has no contribution: there it must hold op(0, d)."""
    outcome = right(FAMILY, instance, case)
    assert outcome.record.zero_fill


@pytest.mark.parametrize("op", ["nd1", "bilinear"])
def test_d_may_be_dx_itself(right, op):
    """Then nothing may be cleared before the GEMMs have read D, and the other cells still become op(0, d)."""
    for shape in ("R1", "R7", "R9"):
        outcome = right(FAMILY, "f16_32x32x32_a1b1c1", f"bwd_data_f16_nhwgc_{SHAPES[shape]}_{op}", alias_d=True)
        assert not outcome.record.zero_fill


@pytest.mark.parametrize(
    ("case", "instance"),
    runs(FAMILY, cases("bf16", [SHAPES[name] for name in ("R1", "R9", "R16")], ending="_gap")),
)
def test_gaps_stay_untouched(right, case, instance):
    outcome = right(FAMILY, instance, case)
    assert gaps(outcome.result).size


@pytest.mark.parametrize("gate", ["gemms_count", "launch_each", "off"])
def test_record_agrees_with_the_decomposition(bench, integers, gate):
    """What the library says it launched, against the decomposition and the declaration's prediction."""
    options = {"flat_path_gate": gate}
    for name, problem in problems("f16", SHAPES, "nhwgc").items():
        instance = instance_called(FAMILY, "f16_32x32x32_a1b1c1")
        outcome = bench.run(problem, integers(problem), FAMILY, instance.name, options)
        predicted = FAMILY.dispatch(problem, instance, options)
        assert predicted
        assert predicted.stated.items() <= outcome.record.summary().items(), name
        expected = sub_gemms(problem)
        assert [(g.tilde, g.taps, g.m, g.n, g.k) for g in outcome.gemms] == [
            (g.tilde, g.taps, g.m, g.n, g.k) for g in expected
        ], name
        assert [(g.slice_begin, g.slice_length) for g in outcome.gemms] == [
            (tuple(a.begin for a in g.axes), tuple(a.length for a in g.axes)) for g in expected
        ], name
        if gate != "off":
            assert outcome.record.launched == tuple(range(len(expected))), name


@pytest.mark.parametrize(
    ("case", "count", "launched"),
    [
        ("n2k16c16_y5_h11x13_s2_p1", 4, (0,)),
        ("n1k16c16_y3_h28x28_s3_p1", 9, (0,)),
        ("n1k16c16_y6_h28x28_s6_p1", 36, (0, 1)),
    ],
)
@pytest.mark.parametrize("instance", ["f16_32x32x32_a1b1c1", "f16_64x64x64_a8b8c8", "f16_128x64x64_a8b8c8"])
def test_gate_off_drops_exactly_the_other_sub_gemms(bench, integers, oracle, case, count, launched, instance):
    """The cells of the sub-GEMMs that were launched are right, all others are zero: the symptom of #7732."""
    problem = convolution(f"bwd_data_f16_nhwgc_{case}")
    assert gemms_count(problem) == count
    inputs = integers(problem)
    outcome = bench.run(problem, inputs, FAMILY, instance, {"flat_path_gate": "off"})
    assert outcome.record.path == "flat"
    assert outcome.record.launched == launched
    expected = oracle(problem, inputs)
    kept = np.zeros(expected.shape, bool)
    for gemm in (sub_gemms(problem)[index] for index in launched):
        row, column = (
            [h * s + a.tilde * d - p for h in range(a.begin, a.end)]
            for a, s, d, p in zip(gemm.axes, problem.stride, problem.dilation, problem.left_pad, strict=True)
        )
        rows = [i for i in row if 0 <= i < problem.input[0]]
        columns = [i for i in column if 0 <= i < problem.input[1]]
        kept[..., np.ix_(rows, columns)[0], np.ix_(rows, columns)[1]] = True
    np.testing.assert_array_equal(outcome.values, np.where(kept, expected, 0))
    assert (outcome.values != expected).any()


EACH = {"flat_path_gate": "launch_each"}


@pytest.mark.parametrize(
    ("case", "instance"), runs(FAMILY, cases("f16", [SHAPES[n] for n in ("N2", "N3", "R7", "R16")]))
)
def test_a_launch_for_each_gives_the_same_bits(right, case, instance):
    """Variant A of the measurement in ROCm/rocm-libraries#7732: the flat path keeps strided problems, and is right."""
    outcome = right(FAMILY, instance, case, EACH)
    count = gemms_count(convolution(case))
    assert (outcome.record.path, outcome.record.launches) == ("flat", count)
    assert [gemm.bucket for gemm in outcome.gemms] == list(range(count))
    assert {gemm.first_block for gemm in outcome.gemms} == {0}


@pytest.mark.parametrize(("ending", "options"), [("_bilinear", {}), ("_sk2", {}), ("_gap", {"split_n_bytes": "4000"})])
def test_a_launch_for_each_heeds_the_gates_other_clauses(right, ending, options):
    """A D tensor, slices of the reduction, chunks of images: the grouped path, one launch a bucket."""
    case = f"bwd_data_f16_nhwgc_g1n4k16c16_y3x3_h8x8_s2x2_p1x1{ending}"
    outcome = right(FAMILY, "f16_32x32x32_a1b1c1", case, {**EACH, **options})
    assert (outcome.record.path, outcome.record.launches) == ("grouped", 1)


@pytest.mark.parametrize(
    "case",
    [
        "nhwgc_g2n1k16c16_y3_h10x10_s3_p1",  # groups
        "ndhwgc_n1k16c16_y3_h6x6x6_s2_p1",  # not 2D
        "nhwgc_n1k16c16_y3_h10x10_s3_p1_bilinear",  # a D tensor
        "nhwgc_n1k16c16_y3_h10x10_p1",  # one sub-GEMM
    ],
)
def test_gate_off_harms_nothing_else(right, case):
    right(FAMILY, "f16_32x32x32_a1b1c1", f"bwd_data_f16_{case}", {"flat_path_gate": "off"})


@pytest.mark.parametrize("size", [1, 2, 5, 31, 32])
def test_bucket_size(right, size):
    outcome = right(FAMILY, "f32_64x32x32_a2b2c2", f"bwd_data_f32_nhwgc_{SHAPES['R4']}", {"bucket_size": str(size)})
    assert outcome.record.launches == outcome.facts["buckets"] == -(-33 // size)
    assert [gemm.bucket for gemm in outcome.gemms] == [index // size for index in range(33)]


def test_mixed_main_loop(bench, integers):
    """F % T != 0: with K in one block, some sub-GEMMs of a launch loop and some do not."""
    problem = convolution("bwd_data_f16_nhwgc_n1k16c16_y3_h10x10_s2_p1")
    outcome = bench.run(problem, integers(problem), FAMILY, "f16_64x32x32_a4b4c4")
    assert [(gemm.taps, gemm.main_loop) for gemm in outcome.gemms] == [
        ((2, 2), True),
        ((2, 1), True),
        ((1, 2), True),
        ((1, 1), False),
    ]
