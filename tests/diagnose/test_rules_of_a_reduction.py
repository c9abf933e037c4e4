"""Wrong results of reductions: what a few cells may say of a mistake, and what they may not."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from bitgate.model import parse_case_id
from bitgate.ops.reduction.reference import reduced
from bitgate.verify.diagnose import Scene, diagnose


def cells(case: str, low: int, high: int) -> tuple[Any, np.ndarray]:
    problem = parse_case_id(case)
    shape = problem.tensors["x"].lengths
    return problem, np.random.default_rng(1).integers(low, high, shape).astype(problem.dtypes.inp.numpy)


def test_a_lost_tail_is_not_read_from_one_rounded_cell():
    problem, x = cells("reduction_bf16_o40l9000i1_sum", 0, 3)
    right = x.astype(np.float64).sum(axis=1).astype(ml_dtypes.bfloat16)
    wrong = right.copy()
    wrong[7] = np.nextafter(right[7], ml_dtypes.bfloat16(np.inf))
    diagnosis = diagnose(Scene(problem, wrong, right, poison=0xFFFF, inputs={"x": x}))
    assert diagnosis.kinds == ("rounding",)
    assert diagnosis.sentence.startswith("every difference is at most 1 unit in the last place of bf16")


def test_a_lost_tail_is_read_from_many_cells():
    problem, x = cells("reduction_bf16_o40l70i1_sum", 1, 4)
    right = x.astype(np.float64).sum(axis=1).astype(ml_dtypes.bfloat16)
    wrong = x[:, :-6].astype(np.float64).sum(axis=1).astype(ml_dtypes.bfloat16)
    diagnosis = diagnose(Scene(problem, wrong, right, poison=0xFFFF, inputs={"x": x}))
    assert diagnosis.kinds[0] == "k_tail"
    assert "the last 6 of 70 cells of the row are missing" in diagnosis.sentence


def test_slices_that_leave_the_remainder_out():
    problem, x = cells("reduction_bf16_o40l71i1_sum_sk5", 1, 4)
    right = x.astype(np.float64).sum(axis=1).astype(ml_dtypes.bfloat16)
    wrong = x[:, :-1].astype(np.float64).sum(axis=1).astype(ml_dtypes.bfloat16)
    sentence = diagnose(Scene(problem, wrong, right, poison=0xFFFF, inputs={"x": x})).sentence
    assert "(71 mod 5 slices = 1: slices of 14 do not reach the end)" in sentence


def test_an_index_that_counts_from_its_slice():
    problem, x = cells("reduction_f32_o8l20i3_argmax_sk4", -99, 99)
    right = np.asarray(reduced(problem, x.astype(np.float64))["index"]).astype(np.int32)
    diagnosis = diagnose(Scene(problem, right % 5, right, poison=0, inputs={"x": x}, output="index"))
    assert diagnosis.kinds[0] == "split_slice"
    assert "index counts from the first cell of its slice of 5, not from the row's" in diagnosis.sentence


def test_an_index_within_a_slice_whose_maximum_comes_again():
    """Equal maxima: the lower place within its slice wins, which is not the first one of the row."""
    problem, x = cells("reduction_f32_o8l20i3_argmax_sk4", -99, 98)
    x[:, 7], x[:, 11] = 99, 99
    right = np.full((8, 3), 7, np.int32)
    wrong = np.full((8, 3), 1, np.int32)
    diagnosis = diagnose(Scene(problem, wrong, right, poison=0, inputs={"x": x}, output="index"))
    assert "index counts from the first cell of its slice of 5" in diagnosis.sentence
    other = diagnose(Scene(problem, wrong + 2, right, poison=0, inputs={"x": x}, output="index"))
    assert "slice" not in other.sentence


def test_one_cell_of_few_digits_names_no_tail():
    problem, x = cells("reduction_bf16_o80l1000i1_sum", 0, 3)
    right = x.astype(np.float64).sum(axis=1).astype(ml_dtypes.bfloat16)
    wrong = right.copy()
    wrong[7] = np.float32(right[7]) * np.float32(0.97)
    assert "missing" not in diagnose(Scene(problem, wrong, right, poison=0xFFFF, inputs={"x": x})).sentence


def test_integers_that_saturate_too_early(patient):
    p = patient("fwd_i8_nhwgc_g1n2k8c16_y1x1_h5x5")
    p.reference = np.clip(p.reference.astype(np.int64) * 9, -128, 127).astype(np.int8)
    p.result = np.maximum(p.reference, -127)
    assert "each holds -127 where -128, an end of i8, is due" in diagnose(p.scene()).sentence


def largest(case: str, lost: np.ndarray) -> str:
    """The diagnosis of a maximum without some cells of each row."""
    problem, x = cells(case, -9999, 9999)
    right = x.max(axis=1)
    wrong = np.where(lost[:, None], -np.inf, x).max(axis=1).astype(np.float32)
    return diagnose(Scene(problem, wrong, right, poison=0, inputs={"x": x}, output="y")).sentence


def test_a_maximum_without_the_last_wave():
    sentence = largest("reduction_f32_o40l600i1_max", np.arange(600) % 256 >= 224)
    assert "y is the largest cell of the row but numbers 225 to 256, a wave, of every 256" in sentence


def test_a_maximum_without_the_end_of_each_slice():
    sentence = largest("reduction_f32_o90l40i1_max_sk4", np.isin(np.arange(40), (9, 19, 29)))
    assert "y is the largest cell of the row but the last one of each slice but the last" in sentence


def test_a_sum_of_slices_without_the_last_wave_of_each():
    problem, x = cells("reduction_f32_o40l514i1_sum_sk2", 1, 99)
    right = x.sum(axis=1).astype(np.float32)
    wrong = x[:, np.arange(514) % 257 % 256 < 192].sum(axis=1).astype(np.float32)
    sentence = diagnose(Scene(problem, wrong, right, poison=0, inputs={"x": x}, slices=2)).sentence
    assert sentence.startswith("numbers 193 to 256, a wave, of every 256 cells of the row are missing from the sums")


def maximum(case: str, wrong: Any, low: int = -99) -> str:
    """The diagnosis of what ``wrong`` makes of the cells instead of a maximum."""
    problem, x = cells(case, low, 9)
    right = x.max(axis=1)
    result = wrong(x).astype(right.dtype)
    return diagnose(Scene(problem, result, right, poison=0x7FFFFFFF, inputs={"x": x}, output="y")).sentence


def test_a_maximum_that_begins_at_zero() -> None:
    case = "reduction_f32_o90l4i1_max"
    sentence = maximum(case, lambda x: np.maximum(x[:, 1:].max(axis=1), 0), -9)
    assert sentence.startswith("y is the largest cell of the row but the first one, or 0 where none is above it, in ")
    sentence = maximum(case, lambda x: np.maximum(x.max(axis=1), 0))
    assert sentence.endswith("are zero, and are all cells where a maximum below 0 is due: as of one that begins at 0")


def test_zeros_that_are_not_all_maxima_below_zero() -> None:
    sentence = maximum("reduction_f32_o90l4i1_max", lambda x: np.where(np.arange(90)[:, None] < 40, 0, x.max(axis=1)))
    assert sentence.endswith("; they are zero")


TOP = np.int32(-(2**31))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda x: x.max(axis=1) ^ TOP, "with its sign bit turned"),
        (lambda x: x.view(np.uint32).max(axis=1).view(np.int32), "in the order of unsigned bits"),
        (lambda x: x.view(np.uint32).max(axis=1).view(np.int32) ^ TOP, "in the order of unsigned bits, with its sign"),
    ],
)
def test_a_maximum_of_integers_that_are_taken_for_unsigned(wrong: Any, words: str) -> None:
    assert maximum("reduction_i32_o9l7i1_max", wrong).startswith(f"y is the largest cell of the row {words}")
