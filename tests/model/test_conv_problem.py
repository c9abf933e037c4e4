"""Derived quantities of a problem: sizes as Python integers, layouts, gaps, D tensors."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from tests.model.strategies import problems

import bitgate
from bitgate.model import ELEMENTWISE, parse_case_id
from bitgate.ops.convolution import CONVOLUTIONS


@given(problems())
def test_strides_address_distinct_cells_inside_the_space(problem):
    for tensor in problem.tensors.values():
        if 0 in tensor.strides:
            continue  # a bias, or a D that is broadcast: cells coincide on purpose
        if tensor.elements > 20_000:
            continue
        axes = [np.arange(length) * stride for length, stride in zip(tensor.lengths, tensor.strides, strict=True)]
        offsets = np.asarray(sum(np.ix_(*axes))).reshape(-1)
        assert len(np.unique(offsets)) == tensor.elements
        assert offsets.max() == tensor.space - 1
        assert tensor.space == tensor.elements or problem.gap or problem.gaps


@given(problems())
def test_layout_is_the_order_of_the_strides(problem):
    letters = {"in": "gnc", "wei": "gkc", "out": "gnk"}
    spatial = {1: ("w", "x"), 2: ("hw", "yx"), 3: ("dhw", "zyx")}[problem.ndim]
    for name in letters:
        tensor = problem.tensors[name]
        logical = letters[name] + (spatial[1] if name == "wei" else spatial[0])
        stride = dict(zip(logical, tensor.strides, strict=True))
        in_memory = [stride[letter] for letter in tensor.layout]
        assert in_memory == sorted(in_memory, reverse=True)


@given(problems())
def test_output_is_where_windows_fit(problem):
    for axis, size in enumerate(problem.output):
        window = (problem.filter[axis] - 1) * problem.dilation[axis] + 1
        padded = problem.input[axis] + problem.left_pad[axis] + problem.right_pad[axis]
        fits = [o for o in range(padded) if o * problem.stride[axis] + window <= padded]
        assert size == len(fits)


@given(problems())
def test_work_is_the_same_in_all_passes(problem):
    shared = replace(problem.dtypes, own=())
    plain = replace(problem, dtypes=shared, in_op=ELEMENTWISE["pass"], wei_op=ELEMENTWISE["pass"])
    flops = {plain.changed(direction=direction).flops for direction in CONVOLUTIONS}
    assert len(flops) == 1
    per_cell = 2 * problem.c * prod(problem.filter)
    assert problem.flops == per_cell * problem.tensors["out"].elements


def test_sizes_do_not_wrap():
    # K = C = 65537: 1x1 weights of 4 295 098 369 cells. 32 bits would say 131 073.
    problem = parse_case_id("bwd_weight_bf16_nhwgc_g1n1k65537c65537_y1_h1")
    assert problem.tensors["wei"].space == 65537**2
    assert problem.tensors["wei"].bytes == 2 * 65537**2
    assert isinstance(problem.flops, int)
    giant = parse_case_id("fwd_f64_nhwgc_g2147483647n2147483647k1c1_y1_h2147483647")
    assert giant.tensors["in"].space == (2**31 - 1) ** 4
    assert giant.bytes == 8 * (2 * (2**31 - 1) ** 4 + 2**31 - 1)


@pytest.mark.parametrize(
    ("case", "strides"),
    [
        # logical order (g, n, c, h, w) of a 2 x 3 image with 5 channels in 4 groups
        ("fwd_f16_nhwgc_g4n2k5c5_y1_h2x3", (5, 120, 1, 60, 20)),
        ("fwd_f16_gnhwc_g4n2k5c5_y1_h2x3", (60, 30, 1, 15, 5)),
        ("fwd_f16_ngchw_g4n2k5c5_y1_h2x3", (30, 120, 6, 3, 1)),
        ("fwd_f16_nhwgc_g4n2k5c5_y1_h2x3_gap", (5, 168, 1, 84, 28)),
        ("fwd_f16_ngchw_g4n2k5c5_y1_h2x3_gap", (110, 440, 22, 11, 1)),
    ],
)
def test_known_strides(case, strides):
    assert parse_case_id(case).tensors["in"].strides == strides


def test_a_bias_has_one_value_a_channel():
    problem = parse_case_id("bwd_data_f16_nhwgc_g3n2k8c5_y1_h4_bias")
    bias = problem.tensors["d0"]
    assert bias.lengths == problem.tensors["in"].lengths
    assert bias.space == 15
    assert (bias.strides[0], bias.strides[2]) == (5, 1)


@pytest.mark.parametrize("case", ["fwd_f16_nhwgc_g4n2k5c5_y1_h2x3", "gemm_f16_rcr_b2m64n64k32"])
def test_a_problem_from_another_process_is_the_same_key(case):
    """Hashes of texts differ from process to process: the one that is kept does not travel."""
    code = f"import pickle, sys; from bitgate.model import parse_case_id; p = parse_case_id({case!r}); hash(p);"
    code += "sys.stdout.buffer.write(pickle.dumps(p))"
    package = str(Path(bitgate.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "PYTHONHASHSEED": "7"}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout
    assert pickle.loads(said) in {parse_case_id(case)}


def test_flops_and_bytes_of_the_example():
    # CK's example 17 reports 1.40031 ms as 69.8734 TFlops and 179.037 GB/s.
    problem = parse_case_id("bwd_data_f16_nhwgc_g1n128k256c128_y3_h71_s2_p1")
    assert problem.flops / 1e9 / 1.40031 == pytest.approx(69.8734, rel=1e-5)
    assert problem.bytes / 1e6 / 1.40031 == pytest.approx(179.037, rel=1e-5)


@pytest.mark.parametrize(
    ("end", "elements"),
    [("", 0), ("_gap", 0), ("_bilinear", 8 * 16), ("_bias", 8), ("_nd1_gap", 8 * 16)],
    ids=["plain", "gaps are not moved", "a whole D", "a broadcast D", "a whole D with gaps"],
)
def test_bytes_are_of_each_cell_once(end, elements):
    problem = parse_case_id(f"fwd_f16_nhwgc_g1n1k8c8_y1_h4{end}")
    assert problem.bytes == 2 * (8 * 16 + 8 * 8 + 8 * 16 + elements)
