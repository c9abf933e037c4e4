"""Cells that are wrong where a factor is of some kind, and the places of cells that a grid did not reach."""

from __future__ import annotations

import numpy as np

from bitgate.verify.diagnose import Scene, diagnose
from bitgate.verify.diagnose.factors import telling_factors
from bitgate.verify.diagnose.places import last_cells

CASE = "fwd_f32_nhwgc_g1n4k4c2_y1x1_h8x8"


def scene_of(p) -> Scene:
    return p.scene(operands=p.inputs)


def test_wrong_cells_with_an_infinity_as_factor(patient) -> None:
    p = patient(CASE)
    p.inputs["in"][0, 1, 0, 2, 3] = np.inf
    p.inputs["in"][0, 2, 1, 4, 4] = np.inf
    p.inputs["wei"][...] = np.abs(p.inputs["wei"]) + 1
    p.reference = p.convolve()
    p.result = np.where(np.isinf(p.reference), np.float32(7), p.reference)
    finding = telling_factors(scene_of(p))
    assert finding is not None
    assert finding.text == "only where a factor of x is an infinity, and everywhere there"


def test_a_factor_at_the_end_of_its_range(patient) -> None:
    p = patient(CASE)
    p.inputs["wei"][...] = 1
    p.inputs["in"][0, 1, 0, 2, 3] = p.inputs["in"][0, 3, 1, 5, 5] = np.finfo(np.float32).max
    p.reference = p.convolve()
    p.result = np.where(np.abs(p.reference) > 1e30, np.float32(np.nan), p.reference)
    finding = telling_factors(scene_of(p))
    assert finding is not None
    assert finding.text == "only where a factor of x is 3.40282e+38 or more in size, and everywhere there"


def test_silence_at_a_size_between_two_groups_of_cells(patient) -> None:
    """One image has larger numbers than the others: that its cells are wrong has other causes."""
    p = patient(CASE)
    p.inputs["in"][0, 2] += 10
    p.inputs["wei"][...] = 1
    p.reference = p.convolve()
    p.result = p.reference.copy()
    p.result[0, 2] += 1
    assert telling_factors(scene_of(p)) is None


def test_silence_where_right_cells_have_such_factors_too(patient) -> None:
    p = patient(CASE)
    p.result[0, 1, 2, 3] += 1
    assert telling_factors(scene_of(p)) is None


def test_silence_on_signs_where_the_wrong_cells_are_all_of_one_channel(patient) -> None:
    """Only channel 2 has negative weights: that its cells are wrong has other causes."""
    p = patient(CASE)
    p.inputs["wei"][...] = np.where(np.arange(4)[None, :, None, None, None] == 2, -2, 2)
    p.inputs["in"][...] = np.abs(p.inputs["in"]) + 1
    p.reference = p.convolve()
    p.result = p.reference.copy()
    p.result[:, :, 2] += 1
    assert telling_factors(scene_of(p)) is None


def test_cells_behind_a_grid(patient) -> None:
    p = patient(CASE)
    p.result.reshape(-1)[768:] = p.poison
    assert "only from cell 768 on, in logical order (12 * 64 cells are right)" in diagnose(p.scene()).sentence


def test_silence_where_the_last_cells_begin_anywhere(patient) -> None:
    p = patient(CASE)
    p.result.reshape(-1)[771:] = p.poison
    assert last_cells(p.scene()) is None
