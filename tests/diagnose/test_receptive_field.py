"""On one-hot data a wrong cell is named: who reached it, through which tap, or who did not."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.model import F32_ACCUMULATION
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.verify.diagnose import diagnose

CASES = {
    "fwd": "fwd_f32_nhwgc_g2n2k6c5_y3x2_h7x9_s2x1_d1x2_p1x2_q0x1",
    "bwd_data": "bwd_data_f16_nhwgc_g2n2k6c5_y3x3_h7x9_s2x2_p1x1",
    "bwd_weight": "bwd_weight_f32_nhwgc_g2n2k6c5_y3x3_h7x9_p1x1",
}


@pytest.fixture
def probed(patient):
    """A patient that was given one-hot data."""

    def make(name, seed=0):
        p = patient(CASES[name])
        made = make_inputs(p.problem, plan_fill(p.problem, F32_ACCUMULATION, "probe", seed))
        p.inputs = {tensor: host.logical for tensor, host in made.items()}
        p.reference = p.convolve(**p.inputs)
        p.result = p.reference.copy()
        return p

    return make


def first(cells):
    return tuple(int(i) for i in np.argwhere(cells)[0])


def spelled(cell):
    return ",".join(map(str, cell))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "result"), [("fwd", "y"), ("bwd_data", "dx"), ("bwd_weight", "dw")])
def test_a_cell_that_was_not_reached(probed, name, result, seed):
    p = probed(name, seed)
    cell = first(p.reference != 0)
    p.result[cell] = 0
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "receptive_field"
    assert f"did not reach {result}({spelled(cell)}) through " in diagnosis.sentence
    assert diagnosis.evidence["receptive_field"] == {"missed": [list(cell)]}


def test_a_cell_that_was_reached_from_outside(probed):
    p = probed("bwd_data")
    cell = first(p.reference == 0)
    p.result[cell] = p.inputs["wei"][1, 2, 3, 0, 1]
    said = f"reached dx({spelled(cell)}) through w(1,2,3,0,1), tap (0,1), outside its receptive field"
    assert said in diagnose(p.scene()).sentence


def test_the_sign_of_a_zero_is_no_element_that_reached_a_cell(probed):
    p = probed("bwd_data")
    p.result[first(p.reference == 0)] = -0.0
    diagnosis = diagnose(p.scene())
    assert "reached" not in diagnosis.sentence
    assert diagnosis.kinds[0] == "special_value"


def test_a_tap_in_the_place_of_another(probed):
    p = probed("fwd")
    cell = first(p.reference != 0)
    p.result[cell] = p.inputs["wei"][1, 5, 4, 2, 1]
    diagnosis = diagnose(p.scene())
    assert "through w(1,5,4,2,1), tap (2,1) instead of w(" in diagnosis.sentence
    assert diagnosis.evidence["receptive_field"] == {"mixed_up": [list(cell)]}


def test_cells_that_nobody_wrote(probed):
    p = probed("bwd_weight")
    cell = first(p.reference != 0)
    p.result[cell] = p.poison
    assert "it holds poison, as it was never written" in diagnose(p.scene()).sentence


def test_data_that_are_not_one_hot_are_none_of_its_business(patient):
    p = patient(CASES["bwd_data"])
    p.result[0] = 0
    assert "receptive_field" not in diagnose(p.scene()).kinds
