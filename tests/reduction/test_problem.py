"""Reductions as problems: their ids, types, strides, and what cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.model import DTYPES, ProblemError, case_id, human, operation_called, parse_case_id
from bitgate.ops.reduction import Kind, ReductionProblem, types_of

SPACE = operation_called("reduction").space
PROBLEMS = st.builds(
    lambda element, kind, outer, length, inner, *rest: ReductionProblem(
        types_of(DTYPES[element], kind), outer, length, inner, kind, *rest
    ),
    st.sampled_from(["f32", "f16", "bf16", "i8", "i32"]),
    st.sampled_from(Kind),
    *(st.integers(1, 2**31 - 1) for _ in range(3)),
    st.booleans(),
    st.sampled_from([1, 2, 7, -1]),
)


@given(PROBLEMS)
def test_ids_come_back(problem):
    assert parse_case_id(case_id(problem)) == problem


@pytest.mark.parametrize(
    ("short", "canonical", "words"),
    [
        ("reduction_f32_l5_max", "reduction_f32_o1l5i1_max", "max f32 1x5x1 along 5"),
        ("reduction_i8_o2l5i3_sum", "reduction_i8_i32_o2l5i3_sum", "sum i8_i32 2x5x3 along 5"),
        (
            "reduction_i8_i32_o2l5_sk3_gap_sum",
            "reduction_i8_i32_o2l5i1_sum_gap_sk3",
            "sum i8_i32 2x5x1 along 5, strided, in 3 slices",
        ),
    ],
)
def test_spellings(short, canonical, words):
    problem = parse_case_id(short)
    assert (case_id(problem), human(problem)) == (canonical, words)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reduction_f64_l5_max", "f64: a reduction takes f32"),
        ("reduction_f16_f32_l5_sum", "sum of f16 is f16, not f32"),
        ("reduction_l5_sum", "after the operation stand the types"),
        ("reduction_f16_n5_sum", r"expected o\.\.l\.\.i\.\., found 'n5'|expected o..l..i.. after"),
        ("reduction_f16_l5", "give one of sum, max, argmax"),
        ("reduction_f16_l5_sum_max", "give one of"),
        ("reduction_f16_l5_sum_relu", "'relu' is not a part"),
        ("reduction_f16_l5_sum_gap_gap", "stands twice"),
        ("reduction_f16_l0_sum", "l = 0 is outside"),
        ("reduction_f16_l5_sum_sk0", "split_k = 0"),
    ],
)
def test_what_is_wrong_with_an_id(text, said):
    with pytest.raises(ProblemError, match=said):
        parse_case_id(text)


def test_gaps_lie_between_the_fastest_rows_of_each_tensor():
    strides = {
        role: tensor.strides for role, tensor in parse_case_id("reduction_f32_o3l5i4_argmax_gap").tensors.items()
    }
    assert strides == {"x": (60, 12, 1), "y": (12, 1), "index": (12, 1)}
    contiguous = parse_case_id("reduction_f32_o3l5i1_max_gap").tensors
    assert contiguous["x"].strides == (13, 1, 1)


def test_an_argmax_has_two_results():
    problem = parse_case_id("reduction_f16_o3l5i4_argmax")
    assert problem.outputs == ("y", "index")
    assert (problem.tensors["y"].dtype.name, problem.tensors["index"].dtype.name) == ("f16", "i32")
    assert parse_case_id("reduction_f16_o3l5i4_max").outputs == ("y",)


def test_of_the_types_only_that_of_x_is_free():
    problem = parse_case_id("reduction_f32_o3l5i4_sum")
    assert case_id(SPACE.typed(problem, types_of(DTYPES["i8"], Kind.MAX))) == "reduction_i8_i32_o3l5i4_sum"


def test_smaller_problems_exist_and_lead_to_one_cell():
    problem = parse_case_id("reduction_f16_o3l50i4_max_gap_sk3")
    while steps := [step for step in SPACE.smaller(problem) if step.flops < problem.flops]:
        problem = steps[0]
    assert problem.flops == 1
