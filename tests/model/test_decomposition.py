"""The laws of the bwd_data decomposition, against enumeration of every (output, tap) pair."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod

import pytest
from hypothesis import given
from tests.model.strategies import problems
from tests.problems import convolution

from bitgate.ops.convolution import (
    BUCKET,
    Pass,
    axis_classes,
    axis_tildes,
    gemms_count,
    never_written_fraction,
    owner_of,
    reached_cells,
    sub_gemms,
    tildes,
    written_cells,
)

BWD_DATA = (Pass.BWD_DATA,)


def contributions(problem, axis):
    """{dx coordinate: [(output, tap)]} of one axis, straight from the index relation."""
    pairs: dict[int, list[tuple[int, int]]] = {x: [] for x in range(problem.input[axis])}
    for o, f in product(range(problem.output[axis]), range(problem.filter[axis])):
        x = o * problem.stride[axis] + f * problem.dilation[axis] - problem.left_pad[axis]
        if x in pairs:
            pairs[x].append((o, f))
    return pairs


@given(problems(BWD_DATA))
def test_count_identity(problem):
    assert len(sub_gemms(problem)) == gemms_count(problem)
    assert gemms_count(problem) <= tildes(problem)


@given(problems(BWD_DATA))
def test_every_cell_has_one_owner_with_all_contributions(problem):
    for axis in range(problem.ndim):
        writers: Counter[int] = Counter()
        s, d, p = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
        for cls in axis_classes(problem, axis):
            assert cls.taps > 0
            tilde_count = axis_tildes(problem, axis)
            step = d * tilde_count // s  # dy rows between two taps of a class: dilation / gcd
            for h in range(cls.begin, cls.end):
                x = h * s + cls.tilde * d - p
                if not 0 <= x < problem.input[axis]:
                    continue
                writers[x] += 1
                summed = [
                    (h - step * dot, cls.tilde + tilde_count * dot)
                    for dot in range(cls.taps)
                    if 0 <= h - step * dot < problem.output[axis]
                ]
                assert sorted(summed) == sorted(contributions(problem, axis)[x])
                assert owner_of(problem, axis, x) == cls.tilde
        assert all(count == 1 for count in writers.values())
        for x, pairs in contributions(problem, axis).items():
            assert (x in writers) or not pairs  # an unwritten cell gets no contribution and must be zero
            assert written_cells(problem, axis)[x] == (x in writers)
            assert reached_cells(problem, axis)[x] == bool(pairs)


@given(problems(BWD_DATA))
def test_sizes(problem):
    for index, gemm in enumerate(sub_gemms(problem)):
        assert gemm.index == index
        assert gemm.bucket == index // BUCKET
        assert gemm.m == problem.n * prod(axis.length for axis in gemm.axes)
        assert gemm.n == problem.c
        assert gemm.k == problem.k * prod(gemm.taps)
        assert gemm.k > 0
    # Each tap belongs to exactly one class of its axis.
    for axis in range(problem.ndim):
        assert sum(cls.taps for cls in axis_classes(problem, axis)) == problem.filter[axis]


@given(problems((Pass.FWD, Pass.BWD_WEIGHT)))
def test_the_other_passes_do_not_split(problem):
    assert gemms_count(problem) == 1
    with pytest.raises(ValueError, match="only bwd_data splits"):
        sub_gemms(problem)


# id: filter, input, stride, dilation, left pad, right pad -> output, tildes, gemms, buckets, never-hit share of dx
KNOWN = {
    "A1": ("y3x3_h28x28_s2x2_d1x1_p1x1_q1x1", (14, 14), 4, 4, 1, 0.000),
    "A2": ("y3x3_h28x28_s6x6_d1x1_p1x1_q1x1", (5, 5), 36, 9, 1, 0.750),
    "A3": ("y6x6_h28x28_s6x6_d1x1_p1x1_q1x1", (5, 5), 36, 36, 2, 0.000),
    "A4": ("y4x8_h28x28_s4x8_d1x1_p1x1_q1x1", (7, 3), 32, 32, 1, 0.208),
    "A7": ("y1x1_h7x7_s2x2_d1x1_p0x0_q0x0", (4, 4), 4, 1, 1, 0.673),
    "A9": ("y2x2_h12x12_s3x3_d1x1_p0x0_q0x0", (4, 4), 9, 4, 1, 0.556),
    "A10": ("y2x2_h12x12_s2x2_d2x2_p0x0_q0x0", (5, 5), 1, 1, 1, 0.750),
    "A11": ("y1x1_h118x182_s2x2_d1x1_p0x0_q0x0", (59, 91), 4, 1, 1, 0.750),
    "A12": ("y8x8_h16x16_s1x1_d1x1_p1x1_q1x1", (11, 11), 1, 1, 1, 0.000),
    "N1": ("y5x5_h40x175_s2x2_d1x1_p1x1_q1x1", (19, 87), 4, 4, 1, 0.000),
    "N2": ("y3x3_h28x28_s3x3_d1x1_p1x1_q1x1", (10, 10), 9, 9, 1, 0.000),
    "N3": ("y6x6_h28x28_s6x6_d1x1_p1x1_q1x1", (5, 5), 36, 36, 2, 0.000),
    "B1": ("y1x1x1_h7x7x7_s2x2x2_d1x1x1_p0x0x0_q0x0x0", (4, 4, 4), 8, 1, 1, 0.813),
    "B2": ("y3x3x3_h14x14x3_s1x1x1_d1x1x1_p1x1x1_q1x1x1", (14, 14, 3), 1, 1, 1, 0.000),
    "B4": ("y1x2x2_h1x12x12_s1x3x3_d1x1x1_p0x0x0_q0x0x0", (1, 4, 4), 9, 4, 1, 0.556),
    "B5": ("y1x2x2_h1x12x12_s1x2x2_d1x2x2_p0x0x0_q0x0x0", (1, 5, 5), 1, 1, 1, 0.750),
    "R1": ("y2x2_h12x12_s2x2_d2x2_p0x0_q0x0", (5, 5), 1, 1, 1, 0.750),
    "R2": ("y1x31_h3x64_s1x31_d1x1_p0x0_q0x0", (3, 2), 31, 31, 1, 0.031),
    "R3": ("y4x8_h12x24_s4x8_d1x1_p0x0_q0x0", (3, 3), 32, 32, 1, 0.000),
    "R4": ("y3x11_h9x33_s3x11_d1x1_p0x0_q0x0", (3, 3), 33, 33, 2, 0.000),
    "R5": ("y8x8_h24x24_s8x8_d1x1_p0x0_q0x0", (3, 3), 64, 64, 2, 0.000),
    "R6": ("y5x13_h15x39_s5x13_d1x1_p0x0_q0x0", (3, 3), 65, 65, 3, 0.000),
    "R7": ("y3x3_h17x17_s4x4_d2x2_p1x1_q1x1", (4, 4), 4, 4, 1, 0.779),
    "R8": ("y4x4_h31x31_s6x6_d4x4_p2x2_q2x2", (4, 4), 9, 9, 1, 0.824),
    "R9": ("y3x2_h13x17_s2x3_d1x2_p2x0_q0x1", (7, 6), 6, 4, 1, 0.353),
    "R10": ("y3x3_h10x10_s1x1_d1x1_p1x1_q1x1", (10, 10), 1, 1, 1, 0.000),
    "R11": ("y1x1_h9x9_s2x2_d1x1_p0x0_q0x0", (5, 5), 4, 1, 1, 0.691),
    "R12": ("y2x2_h5x5_s1x1_d1x1_p3x3_q3x3", (10, 10), 1, 1, 1, 0.000),
    "R13": ("y3x3_h5x5_s7x7_d1x1_p1x1_q1x1", (1, 1), 49, 9, 1, 0.840),
    "R14": ("y1x1_h2x2_s2x2_d1x1_p0x0_q0x0", (1, 1), 4, 1, 1, 0.750),
    "R15": ("y2x2_h5x5_s2x2_d1x1_p0x0_q0x0", (2, 2), 4, 4, 1, 0.360),
    "R16": ("y3x3_h10x11_s2x2_d1x1_p0x2_q2x0", (5, 6), 4, 4, 1, 0.000),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_shapes(name):
    spatial, output, tilde_count, gemms, buckets, never_hit = KNOWN[name]
    problem = convolution(f"bwd_data_f16_n1k8c8_{spatial}")
    assert problem.output == output
    assert tildes(problem) == tilde_count
    assert gemms_count(problem) == gemms
    assert sub_gemms(problem)[-1].bucket + 1 == buckets
    assert never_written_fraction(problem) == pytest.approx(never_hit, abs=5e-4)
