"""NaN, infinities, signed zeros and the ends of a range: what stands where something else is due."""

from __future__ import annotations

import numpy as np
import pytest
from tests import oracle

from bitgate.verify.diagnose import diagnose

CASE = "fwd_f16_nhwgc_g1n3k8c8_y3x3_h6x6_p1x1"
LARGEST = float(np.finfo(np.float16).max)


@pytest.mark.parametrize(
    ("due", "held", "words"),
    [
        (np.inf, np.nan, "NaN where an infinity is due"),
        (np.nan, np.inf, "an infinity where NaN is due"),
        (np.nan, 0.0, "+0 where NaN is due (NaN was taken for less than 0, or was lost)"),
        (0.0, -0.0, "-0 where +0 is due"),
        (-0.0, 0.0, "+0 where -0 is due (the sign of a zero was lost)"),
        (np.inf, LARGEST, "the largest number where an infinity is due (it saturates instead of overflowing)"),
        (LARGEST, np.inf, "an infinity where the largest number is due (it overflows instead of saturating)"),
    ],
)
def test_one_in_place_of_another(patient, due, held, words):
    p = patient(CASE)
    p.reference[p.reference == 0] = 1
    p.reference[0, 0, :, 1:3, 1:3] = due
    p.result = p.reference.copy()
    p.result[0, 0, :, 1:3, 1:3] = held
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("special_value",)
    assert diagnosis.sentence.startswith(f"the wrong cells hold {words}")
    assert ", in every cell where " in diagnosis.sentence


def test_the_place_counts_where_others_are_right(patient):
    p = patient(CASE)
    p.reference[..., 2, 2] = np.nan
    p.result = p.reference.copy()
    p.result[:, 1, :, 2, 2] = 0
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("special_value", "wrong_image")
    assert diagnosis.sentence.endswith("only in image 1 of 3")
    assert "every cell" not in diagnosis.sentence


def test_bytes_that_wrap_around(patient):
    p = patient("fwd_i8_nhwgc_g1n1k8c8_y3x3_h6x6_p1x1")
    p.inputs = {name: np.where(array < 0, array - 9, array + 9).astype(np.int8) for name, array in p.inputs.items()}
    data = {name: array.astype(np.float64) for name, array in p.inputs.items()}
    sums = oracle.sums(p.problem, data)
    p.reference = np.clip(sums, -128, 127).astype(np.int8)
    p.result = sums.astype(np.int64).astype(np.int8)
    sentence = diagnose(p.scene()).sentence
    assert sentence.startswith("sums beyond the range of i8 wrap around in y instead of saturating")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda y: y + 1, "each is 1 more than it should be"),
        (lambda y: y / 2, "each is 0.5 times what it should be"),
        (lambda y: -y, "each has the wrong sign"),
    ],
)
def test_cells_that_all_differ_alike(patient, wrong, words):
    p = patient("fwd_f32_nhwgc_g1n2k8c8_y3x3_h6x6_p1x1")
    p.result = wrong(p.reference).astype(np.float32)
    assert diagnose(p.scene()).sentence.endswith(words)


def test_the_same_half_of_every_wave(patient):
    p = patient("fwd_f32_nhwgc_g1n6k8c8_y1x1_h4x8")
    p.result[:, 1::2] += np.random.default_rng(0).integers(1, 9, p.result[:, 1::2].shape).astype(np.float32)
    sentence = diagnose(p.scene()).sentence
    assert "only in rows 32 to 63 of every 64 of the GEMM's 192 rows (images and positions)" in sentence


def test_a_type_with_one_nan_says_never_written_only_of_all_wrong_cells(patient):
    """Poison has the bits of the one NaN there is: where other cells are wrong too, it may have been computed."""
    p = patient("fwd_bf8fnuz_nhwgc_g1n3k8c8_y1x1_h6x6")
    p.result[0, :, 2] = p.poison
    assert diagnose(p.scene()).kinds[0] == "never_written"
    p.result[0, :, 5] = np.where(p.reference[0, :, 5].astype(np.float32) == 24, 28, 24)
    diagnosis = diagnose(p.scene())
    assert "never_written" not in diagnosis.kinds
    assert "108 of them are NaN where a number is due" in diagnosis.sentence
