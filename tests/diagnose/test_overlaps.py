"""Results that were added or written in another's place are named by the distance, or by the slice they took."""

from __future__ import annotations

import numpy as np

from bitgate.verify.diagnose import diagnose


def added_to_the_first_half(p) -> np.ndarray:
    """Partial sums of rows 8 to 15 that were added to rows 0 to 7."""
    result = np.zeros_like(p.reference)
    result[:, :8] = p.reference[:, :8] + p.reference[:, 8:]
    return result


def test_sums_that_were_added_to_those_of_other_rows(patient):
    p = patient("bwd_weight_f32_nhwgc_g1n2k16c8_y2x2_h8x8")
    p.result = added_to_the_first_half(p)
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "shifted"
    assert diagnosis.sentence.startswith("each cell holds the sum of the cell at k + 8 besides its own")


def test_sums_of_two_cells_alone_are_no_overlap(patient):
    """Where the other cells hold their own sums, nothing was moved."""
    p = patient("bwd_weight_f32_nhwgc_g1n2k16c8_y2x2_h8x8")
    p.result[:, :8] = added_to_the_first_half(p)[:, :8]
    assert "besides its own" not in diagnose(p.scene()).sentence


def test_an_image_that_was_written_over_another(patient):
    """A chunk without its offset: threads of both meet, and nothing is written to the second."""
    p = patient("fwd_f32_nhwgc_g1n2k4c8_y1x1_h5x5")
    p.result[:, 0], p.result[:, 1] = p.reference[:, 1], p.poison
    other = p.reference.copy()
    other[:, 1] = p.poison
    diagnosis = diagnose(p.scene(other_run=other, runs=("forward", "reverse")))
    assert diagnosis.kinds[:2] == ("race", "wrong_image")
    assert "in forward: image 0 holds the result of image 1; image 1 was never written" in diagnosis.sentence


def test_images_that_nothing_wrote_hold_no_other(patient):
    p = patient("fwd_f32_nhwgc_g1n2k4c8_y1x1_h5x5")
    p.result[:, 1] = p.poison
    assert "holds the result of" not in diagnose(p.scene()).sentence


def test_images_whose_sum_counts_for_nothing_hold_each_others_d(patient):
    p = patient("fwd_f32_nhwgc_g1n2k4c8_y1x1_h5x5_bilinear_a0_b1")
    d = np.random.default_rng(1).integers(-9, 10, p.reference.shape).astype(np.float32)
    p.inputs["d0"] = p.reference = d
    p.result = d.copy()
    p.result[:, 1] = d[:, 0]
    assert diagnose(p.scene()).sentence.startswith("D is read at n 0 for every n")
