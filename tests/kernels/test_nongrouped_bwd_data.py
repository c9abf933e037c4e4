"""Backward data without groups: every instance, a launch a sub-GEMM, and what is refused, by both sides alike."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.agreement import LAYOUTS, disagreements, instance_called, instances_in, possible, runs, said

from bitgate.kernel.registry import families
from bitgate.model import parse_case_id
from bitgate.ops.convolution import sub_gemms

FAMILY = families()["nongrouped_bwd_data"]
DTYPES = ("f32", "f16", "bf16", "i8")
ANY = "f16_32x32x32_a1b1c1"

SHAPES = {
    "dense": "n2k16c24_y3x3_h9x10_p1x1",
    "four": "n2k72c16_y5x5_h20x17_s2x2_p1x1",
    "nine": "n1k40c72_y3x3_h14x14_s3x3_p1x1",
    "thirty-six": "n1k16c16_y6x6_h13x13_s6x6_p1x1",  # more than a bucket
    "no tap": "n2k16c16_y2x2_h12x12_s3x3",
    "shared factor": "n2k16c16_y3x3_h17x17_s4x4_d2x2_p1x1",
    "trailing": "n1k16c16_y2x2_h5x5_s2x2",
    "unequal pads": "n2k16c16_y3x3_h10x11_s2x2_p0x2_q2x0",
    "odd": "n2k9c7_y3x2_h13x17_s2x3_d1x2_p2x0_q0x1",
}
OTHER = {"nwgc": "n2k16c8_y3_h17_s2_p1", "gnwc": "n2k8c16_y4_h19_s6_d4_p2", "gnhwc": SHAPES["four"]}
OTHER |= dict.fromkeys(("ndhwgc", "gndhwc"), "n1k32c32_y1x2x2_h2x7x7_s1x3x3")


EVERY = runs(FAMILY, [f"bwd_data_{dtype}_nhwgc_{shape}" for dtype in DTYPES for shape in SHAPES.values()])


def test_every_instance_is_run():
    assert instances_in(EVERY) == {instance.name for instance in FAMILY.instances}


@pytest.mark.parametrize(("case", "instance"), EVERY)
def test_every_instance_equals_brute_force(right, case, instance):
    for schedule in ("forward", "reverse", "random:7"):
        right(FAMILY, instance, case, schedule=schedule)


@pytest.mark.parametrize(
    ("case", "instance"),
    runs(FAMILY, [f"bwd_data_f16_{layout}_{shape}{gap}" for layout, shape in OTHER.items() for gap in ("", "_gap")]),
)
def test_every_layout(right, case, instance):
    right(FAMILY, instance, case)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_launch_a_sub_gemm(bench, integers, shape):
    problem = parse_case_id(f"bwd_data_f16_nhwgc_{SHAPES[shape]}")
    outcome = bench.run(problem, integers(problem), FAMILY, ANY)
    record = outcome.record
    predicted = FAMILY.dispatch(problem, instance_called(FAMILY, ANY), {})
    needed = sub_gemms(problem)
    assert (record.path, record.launches, record.facts["gemms_count"]) == ("nongrouped", len(needed), len(needed))
    assert predicted
    assert predicted.stated.items() <= record.summary().items()
    assert [(g.tilde, g.taps, g.m, g.n, g.k) for g in outcome.gemms] == [
        (g.tilde, g.taps, g.m, g.n, g.k) for g in needed
    ]
    assert [event.name for event in record.events] == ["zero_fill"] + ["kernel_flat"] * len(needed)
    assert record.launched == tuple(range(len(needed)))


@st.composite
def problem_texts(draw):
    ndim = draw(st.integers(1, 3))
    ranges = {"y": (1, 4), "h": (1, 20), "s": (1, 5), "d": (1, 3), "p": (0, 3)}
    numbers = [key + "x".join(str(draw(st.integers(*ends))) for _ in range(ndim)) for key, ends in ranges.items()]
    channels = st.sampled_from([1, 2, 4, 7, 8, 16, 20])
    dims = f"g{draw(st.sampled_from([1, 1, 1, 2]))}n{draw(st.integers(1, 3))}k{draw(channels)}c{draw(channels)}"
    dtype, ending = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(["", "", "_gap", "_relu", "_skauto"]))
    return "_".join(["bwd_data", dtype, draw(st.sampled_from(LAYOUTS[ndim])), dims, *numbers]) + ending


@settings(max_examples=150, deadline=None)
@given(text=problem_texts())
def test_both_predicates_agree(bench, text):
    problem = possible(text)
    assert not disagreements(said(bench.library(FAMILY), problem)), text
