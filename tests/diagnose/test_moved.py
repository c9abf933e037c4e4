"""Cells that hold the results of other rows or columns of the GEMM are traced to these, by their number."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.model import parse_case_id
from bitgate.verify.diagnose import Scene, diagnose


def by_rows(p, cells):
    """A view of y or dx: images and positions, then channels."""
    return np.moveaxis(cells[0], 1, -1).reshape(-1, p.reference.shape[2])


def test_the_second_half_of_each_tile_stores_the_first(patient):
    p = patient("fwd_f16_gnwc_g1n515k24c40_y1_h1")
    rows = np.arange(515)
    second = rows % 128 >= 64
    p.result[0, second, :, 0] = p.reference[0, rows[second] - 64, :, 0]
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "shifted"
    said = "the wrong cells hold the results of 64 rows (images and positions) of the GEMM before; "
    assert diagnosis.sentence.startswith(said)
    assert "only in rows 64 to 127 of every 128 of the GEMM's 515 rows" in diagnosis.sentence


@pytest.mark.parametrize("direction", ["fwd", "bwd_data"])
def test_rows_of_several_images(patient, direction):
    p = patient(f"{direction}_f32_nhwgc_g1n3k8c8_y3x3_h7x7_p1x1")
    right, rows = by_rows(p, p.reference), np.arange(147)
    wrong = right[np.where(rows % 32 < 16, np.minimum(rows + 16, 146), rows)]
    p.result[0] = np.moveaxis(wrong.reshape(3, 7, 7, 8), -1, 1)
    p.result[0, 2, :, 6, 6] = p.reference[0, 2, :, 6, 6]
    assert "results of 16 rows (images and positions) of the GEMM after; " in diagnose(p.scene()).sentence


def test_columns_of_the_first_wave(patient):
    p = patient("fwd_f32_nhwgc_g2n2k48c8_y3x3_h5x5_p1x1")
    p.result[:, :, 32:] = p.reference[:, :, 16:32]
    assert "the wrong cells hold the results of 16 channels k before; " in diagnose(p.scene()).sentence


def test_rows_of_weights(patient):
    p = patient("bwd_weight_f32_nhwgc_g1n2k96c6_y3x3_h6x6_p1x1")
    p.result[:, 32:64] = p.reference[:, :32]
    assert "the wrong cells hold the results of 32 rows k of the GEMM before; " in diagnose(p.scene()).sentence


def test_columns_of_a_gemm():
    problem = parse_case_id("gemm_f32_rcr_b2m9n40k5")
    right = np.random.default_rng(1).integers(1, 999, (2, 9, 40)).astype(np.float32)
    wrong = right.copy()
    wrong[..., 8:16] = right[..., :8]
    sentence = diagnose(Scene(problem, wrong, right, poison=0)).sentence
    assert sentence.startswith("the wrong cells hold the results of 8 columns of C before; ")


def test_one_cell_that_differs_is_not_moved(patient):
    p = patient("fwd_f32_nhwgc_g2n2k48c8_y3x3_h5x5_p1x1")
    p.result[:, :, 32:] = p.reference[:, :, 16:32]
    p.result[0, 0, 40, 0, 0] += 1
    assert "hold the results of" not in diagnose(p.scene()).sentence
