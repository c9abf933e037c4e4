"""A slice of backward data's reduction that begins at a wrong filter tap is named by how its number was divided."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.ops.convolution.rules.starts import sum_from
from bitgate.ops.convolution.rules.sums import class_only, terms
from bitgate.verify.diagnose import diagnose

CASE = "bwd_data_f32_ndhwgc_g1n1k24c4_y2x3x2_h4x6x5_s1x2x1_p0x1x1_sk5"
TILE_K = 16


def result_of(p, divisors, is_turned=False) -> np.ndarray:
    cells = [
        sum_from(class_only(p.problem, terms(p.problem, p.inputs, cell), cell), TILE_K, 5, divisors, is_turned)
        for cell in np.ndindex(*p.reference.shape)
    ]
    return np.array(cells, np.float32).reshape(p.reference.shape)


def test_right_divisors_give_right_sums(patient):
    p = patient(CASE)
    assert (result_of(p, lambda taps: taps) == p.reference).all()


@pytest.mark.parametrize(
    ("divisors", "words"),
    [
        (lambda taps: (taps[0], 3, taps[2]), "its number is divided by the filter's 3 taps of h, not the sub-GEMM's"),
        (lambda taps: (taps[0], taps[2], taps[2]), "its number is divided by the taps of w for those of h"),
        (lambda taps: (taps[0], taps[1], 1), "its number is not divided by the taps of w"),
    ],
)
def test_a_tap_that_is_divided_wrongly(patient, divisors, words):
    p = patient(CASE)
    p.result = result_of(p, divisors)
    sentence = diagnose(p.scene(tile=(64, 16, TILE_K))).sentence
    assert "slices of the split reduction begin at a wrong filter tap: " in sentence
    assert words in sentence


def test_a_tap_whose_axes_are_taken_in_reverse_order(patient):
    p = patient(CASE)
    p.result = result_of(p, lambda taps: taps, is_turned=True)
    assert "its number is divided by the taps of d first, not of w" in diagnose(p.scene(tile=(64, 16, TILE_K))).sentence
