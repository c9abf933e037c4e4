"""Both families on the host: places of maxima, sums that wrap, what is refused; C++ and Python agree on it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.agreement import instance_called

from bitgate.kernel.registry import families
from bitgate.model import F32_ACCUMULATION, parse_case_id
from bitgate.numerics.fill import make_inputs, plan_fill

F32 = (
    "naive_reduction.f32",
    *(f"reduction.f32_{way}{w}" for way in ("block", "wave", "columns") for w in ("", "_w32")),
)
SHAPES = ("o3l1i1", "o5l257i1", "o4l600i1", "o2l70i35")


def expected(problem, x):
    return problem.operation.reference(problem, {"x": x.astype(np.float64)})


def cells(problem, fill, seed):
    return make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill, seed))["x"].logical


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("kernel", "tail"),
    [(kernel, tail) for kernel in F32 for tail in ("", "_sk3", "_gap") if tail != "_sk3" or "naive" not in kernel],
)
def test_an_argmax_is_the_first_of_equal_maxima(reducer, kernel, tail, shape):
    problem = parse_case_id(f"reduction_f32_{shape}_argmax{tail}")
    for fill in problem.operation.numerics.fills(problem):
        x = cells(problem, fill.name, 0)
        found, right = reducer(problem, x, kernel), expected(problem, x)
        assert np.array_equal(found["index"], right["index"]), fill.name
        assert np.array_equal(found["y"], right["y"].astype(np.float32), equal_nan=True), fill.name


@pytest.mark.parametrize("element", ["f16", "bf16", "i8", "i32"])
@pytest.mark.parametrize("way", ["block", "wave", "columns"])
def test_an_argmax_of_each_type(reducer, element, way):
    problem = parse_case_id(f"reduction_{element}_o9l300i2_argmax")
    for fill in problem.operation.numerics.fills(problem):
        x = cells(problem, fill.name, 1)
        found, right = reducer(problem, x, f"reduction.{element}_{way}"), expected(problem, x)
        assert np.array_equal(found["index"], right["index"]), fill.name


@pytest.mark.parametrize("kernel", ["naive_reduction.i32", "reduction.i32_block", "reduction.i32_columns_w32"])
def test_sums_of_i32_wrap(reducer, kernel):
    problem = parse_case_id("reduction_i32_o2l40i3_sum")
    x = np.random.default_rng(0).integers(-(2**31), 2**31, (2, 40, 3))
    right = x.sum(axis=1).astype(np.int32)
    assert np.array_equal(reducer(problem, x, kernel)["y"], right)
    assert np.array_equal(expected(problem, x)["y"], right)


@pytest.mark.parametrize("kernel", F32)
def test_any_nan_is_reported_as_the_quiet_one(reducer, kernel):
    problem = parse_case_id("reduction_f32_o1l3_max")
    x = np.array([0x3F800000, 0xFFC12345, 0x7F800001], np.uint32).view(np.float32).reshape(1, 3, 1)
    assert reducer(problem, x, kernel)["y"].view(np.uint32).tolist() == [[0x7FC00000]]


@pytest.mark.parametrize(
    ("case", "kernel", "clause"),
    [
        ("gemm_f32_rcr_m8n8k8", "reduction.f32_block", "operation"),
        ("gemm_f32_rcr_m8n8k8", "naive_reduction.f32", "operation"),
        ("reduction_f16_l8_sum", "reduction.f32_block", "dtypes"),
        ("reduction_i8_l8_sum", "reduction.i8_wave", None),
        ("reduction_i8_l8_max", "reduction.i8_wave", None),
        ("reduction_i32_l8_sum", "reduction.i8_wave", "dtypes"),
        ("reduction_f32_l8_sum_sk65536", "reduction.f32_columns", "split_k"),
        ("reduction_f32_l8_sum_sk65535", "reduction.f32_columns", None),
        ("reduction_f32_l8_sum_skauto", "naive_reduction.f32", "split_k"),
        ("reduction_f32_o2147483647l2147483647i131072_max_gap", "reduction.f32_block", None),
        ("reduction_f32_o2147483647l8i131073_max", "reduction.f32_block", "index_range"),
        ("reduction_f32_o2147483647l8i2147483647_max", "naive_reduction.f32", None),
    ],
)
def test_clause(reducer, case, kernel, clause):
    problem, (family, instance) = parse_case_id(case), kernel.split(".")
    declared = families()[family]
    predicted = declared.supports(problem, instance_called(declared, instance), {})
    answered = reducer.library(family).is_supported(problem, instance)
    assert (predicted and predicted.clause) == clause
    assert (answered and answered.clause) == clause
