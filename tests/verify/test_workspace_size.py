"""Which sizes of a workspace that no declaration predicts are plausible."""

from __future__ import annotations

import pytest

from bitgate.model.registry import parse_case_id
from bitgate.verify.memory import workspace_disagreement

TINY = "bwd_weight_f16_ngcw_g1n1k1c1_y1_h2_s2_d1_p0_q0_skauto"


@pytest.mark.parametrize(("size", "is_plausible"), [(0, True), (260, True), (1 << 16, True), (1 << 20, False)])
def test_alignment_of_a_tiny_problem_is_plausible(size, is_plausible):
    assert (workspace_disagreement(parse_case_id(TINY), size, None) == "") == is_plausible
