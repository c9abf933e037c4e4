"""What the grouped kernel refuses, by which clause, and that C++ and Python agree on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.kernels.agreement import LAYOUTS, disagreements, possible, said
from tests.problems import convolution

from bitgate.kernel.registry import families

FAMILY = families()["grouped_bwd_data"]
WIDE = "f16_128x64x64_a8b8c8"


def test_refusal_names_the_values(bench):
    refusal = bench.library(FAMILY).is_supported(convolution("bwd_data_f16_nhwgc_n1k12c8_y1_h2"), WIDE)
    assert refusal.text == "K = 12 is not a multiple of the vector of 8"


OWN = ("f16_ctweif8ocp_ctoutbf8ocp", "f16_ctweibf8ocp_ctoutf8ocp", "f16_ctoutf8ocp")
LENGTHS = st.one_of(st.sampled_from([8, 16, 24]), st.integers(1, 40))


@st.composite
def problem_texts(draw):
    """Case ids of bwd_data, mostly possible ones: an image holds at least one window, if its padding does."""
    ndim = draw(st.sampled_from([1, 2, 2, 3]))
    small = st.integers(1, 9 if ndim == 1 else 4)
    axes = []
    for _ in range(ndim):
        y, s, d, p = draw(small), draw(small), draw(small), draw(st.integers(0, 4))
        axes.append({"y": y, "h": max(1, (y - 1) * d + 1 - 2 * p) + draw(st.integers(0, 12)), "s": s, "d": d, "p": p})
    numbers = "_".join(key + "x".join(str(axis[key]) for axis in axes) for key in "yhsdp")
    dims = f"g{draw(st.integers(1, 3))}n{draw(st.integers(1, 6))}k{draw(LENGTHS)}c{draw(LENGTHS)}"
    op = draw(st.sampled_from(["", "", "_bias", "_inplace", "_relu"]))
    gap = draw(st.sampled_from(["", "", "_gap"]))
    split = draw(st.sampled_from(["", "", "_skauto", "_sk2", "_sk128", "_sk129"]))
    dtype = draw(st.sampled_from(["f32", "f16", "bf16", "f16_ctf8ocp", "f16_ctbf8fnuz", *OWN]))
    return f"bwd_data_{dtype}_{draw(st.sampled_from(LAYOUTS[ndim]))}_{dims}_{numbers}{op}{gap}{split}"


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "split_n_bytes": st.integers(1, 40_000).map(str),
        "bucket_size": st.integers(1, 32).map(str),
        "flat_path_gate": st.sampled_from(["gemms_count", "off"]),
    },
)
"""What a user may ask for: thresholds that small tensors reach."""


@settings(max_examples=150, deadline=None)
@given(text=problem_texts(), options=OPTIONS)
def test_both_predicates_agree(bench, text, options):
    problem: Any = possible(text)
    assert not disagreements(said(bench.library(FAMILY), problem, options)), text


@settings(max_examples=60, deadline=None)
@given(text=problem_texts(), options=OPTIONS, choice=st.integers(0, 10**6))
def test_both_say_the_same_way(bench, integers, oracle, text, options, choice):
    """Path, launches, splits and main loop as predicted from the problem alone, and the right bits by any of them."""
    problem: Any = possible(text)
    takers = [i for i in FAMILY.instances if FAMILY.supports(problem, i, options) is None]
    assume(takers and problem.flops <= 4 * 10**6)
    instance = takers[choice % len(takers)]
    inputs = integers(problem, reach=1)
    outcome = bench.run(problem, inputs, FAMILY, instance.name, options, alias_d=problem.op.in_place)
    predicted = FAMILY.dispatch(problem, instance, options)
    assert predicted
    assert predicted.stated.items() <= outcome.record.summary().items(), (text, instance.name)
    if options.get("flat_path_gate") != "off":
        np.testing.assert_array_equal(outcome.values, oracle(problem, inputs), err_msg=f"{text} {instance.name}")
