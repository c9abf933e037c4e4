"""Bugs that benchmarks plant by a seed: they apply to the sources, and some problem has each of them."""

from __future__ import annotations

import pytest
from benchmarks.planting import PLANTABLE, Condition, plant, sites
from tests.problems import convolution

from bitgate.core import paths
from bitgate.model import operation_called
from bitgate.ops.convolution import Pass
from bitgate.ops.convolution.space.batch import Batch
from bitgate.tools.fuzz.draw import SIZES, draw_round

BWD_DATA = operation_called(Pass.BWD_DATA).space
QUANTITIES = {quantity.name: quantity for quantity in PLANTABLE}
LAYOUTS = ("nhwgc", "gnhwc")

SITES = sites()


@pytest.mark.parametrize("family", SITES)
def test_planted_bugs_apply_and_some_problem_has_them(family):
    site = SITES[family]
    for seed in range(8):
        planted = plant(family, seed)
        assert len({condition.quantity.name for condition in planted.conditions}) == 4
        text = planted.fault(f"planted_{seed}", paths.root()).seeded(paths.root())
        assert all(condition.cpp in text for condition in planted.conditions)
        assert plant(family, seed) == planted
    assert set(QUANTITIES) >= {"G", "Sy", "K", "Py"}
    assert "geometry" in site.made_by(paths.root())


def test_planted_conjunctions_of_four_are_met_in_some_rounds():
    batches = [draw_round(BWD_DATA, (2, visit), SIZES[visit % 4], LAYOUTS) for visit in range(8)]
    bugs = [plant("grouped_bwd_data", 500 + seed) for seed in range(40)]
    met = [sum(int(bug.holds(batch).sum()) for batch in batches) for bug in bugs]
    assert sum(count > 0 for count in met) >= 38


def test_a_condition_reads_a_problem_as_it_says():
    batch = Batch.from_problems([convolution("bwd_data_f32_nhwgc_g2n3k9c8_y3x1_h7x5_s2x1_d1x1_p1x0_q0x2")])
    assert {name: int(quantity.of(batch)[0]) for name, quantity in QUANTITIES.items()} == {
        **{"ndim": 2, "G": 2, "N": 3, "K": 9, "C": 8, "Fy": 3, "Fx": 1, "Sy": 2, "Sx": 1, "Dy": 1, "Dx": 1},
        **{"Py": 1, "Px": 0, "Qx": 2, "Iy": 7, "Ix": 5, "Oy": 3, "Ox": 7, "NumD": 0},
    }
    for name, relation, holds in (("K", "% 8 != 0", True), ("C", "% 8 == 0", True), ("G", "== 1", False)):
        assert bool(Condition(QUANTITIES[name], relation).holds(batch)[0]) is holds
