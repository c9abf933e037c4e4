"""Comparison by bits, planned cases and their names."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from bitgate.kernel.resolved import NO_KERNEL, Kernel
from bitgate.model import parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.verify.compare_outputs import compare
from bitgate.verify.planned import PlannedCase, repro_line
from bitgate.verify.problem_data import ByteCache, Reference
from bitgate.verify.running import LaunchConfig, LaunchResult


def test_bits_count_not_values():
    reference = np.array([0.0, np.nan, 1.0, np.inf], np.float32)
    result = np.array([-0.0, np.nan, 1.0, np.inf], np.float32)
    assert compare(reference, reference.copy()).equal
    comparison = compare(result, reference)
    assert comparison.count == 1
    assert comparison.first() == ((0,),)
    assert comparison.largest_difference == 0.0


def test_nan_payloads_differ():
    reference = np.array([0x7FC0, 0x7FC1], np.uint16).view(ml_dtypes.bfloat16)
    result = np.array([0x7FC0, 0x7FC0], np.uint16).view(ml_dtypes.bfloat16)
    comparison = compare(result, reference)
    assert comparison.count == 1
    assert comparison.largest_difference == float("inf")
    assert comparison.rows() == [{"at": [1], "result": "nan", "reference": "nan"}]


def test_strided_views_compare_in_logical_order():
    memory = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    result, reference = memory.transpose(2, 0, 1).copy(), memory.transpose(2, 0, 1)
    result[3, 1, 2] += 1
    comparison = compare(result, reference)
    assert (comparison.count, comparison.total) == (1, 24)
    assert comparison.rows() == [{"at": [3, 1, 2], "result": 24, "reference": 23}]


@pytest.mark.parametrize(
    ("cleared", "damage"),
    [
        (
            slice(None),
            "the padding between the rows of y was written (index 4 of its memory): up to there all of it is 0",
        ),
        (slice(10, 12), "the padding between the rows of y was written (index 10 of its memory)"),
    ],
)
def test_memory_that_was_cleared_with_its_padding(cleared, damage):
    """A few zeros in the padding may be results."""
    tensor = parse_case_id("rmsnorm_f32_r4c4_gapyc2").tensors["y"]
    right = HostTensor.empty(tensor)
    right.logical[...] = 1
    result = HostTensor(tensor, right.storage.copy())
    result.storage[cleared] = 0
    run = LaunchResult(LaunchConfig("forward", ""), outputs={"y": result})
    Reference({"y": right}, "exact").hold(run)
    assert run.damage.startswith(damage)
    assert ("all of it is 0" in run.damage) == (cleared == slice(None))


def test_what_does_not_match_is_refused():
    with pytest.raises(ValueError, match="do not compare"):
        compare(np.zeros(3, np.float32), np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="do not compare"):
        compare(np.zeros(3, np.float32), np.zeros(3, np.float16))


def test_names_of_a_planned_case():
    problem = parse_case_id("fwd_f32_nhwgc_n1k8c4_y1_h4")
    family, instance = replace(NO_KERNEL.family, name="conv"), replace(NO_KERNEL.instance, name="small")
    planned = PlannedCase(problem, Kernel(family, instance, (("a", "x"), ("b", "-1"))), fill="exact", seed=3)
    assert planned.id == "fwd_f32_nhwgc_g1n1k8c4_y1x1_h4x4_s1x1_d1x1_p0x0_q0x0__conv_small_a_x_b__1__exact"
    assert planned.key.kernel == "conv"
    assert repro_line(planned) == (
        "bitgate verify fwd_f32_nhwgc_g1n1k8c4_y1x1_h4x4_s1x1_d1x1_p0x0_q0x0 --kernel conv.small --fill exact --seed 3"
        " --option a=x --option b=-1 --target host"
    )


def test_the_cache_forgets_the_oldest():
    cache: ByteCache[str] = ByteCache(10)
    made = []

    def value(key, size):
        def make():
            made.append(key)
            return key, size

        return cache.get(key, make)

    value("a", 6)
    value("b", 4)
    value("a", 6)
    value("c", 5)  # a and b make ten: b, used longest ago, goes, and so does a
    value("c", 5)
    value("a", 6)
    assert made == ["a", "b", "c", "a"]
    assert value("huge", 99) == "huge"
