"""Problems around a given one: there are some at the ends of what lengths may be, too."""

from __future__ import annotations

import pytest

from bitgate.model import parse_case_id
from bitgate.model.problem import MAX_LENGTH

ONE = "y1x1_h1x1_s1x1_d1x1_p0x0_q0x0"


@pytest.mark.parametrize(
    ("case", "quantity"),
    [
        (f"bwd_data_f16_nhwgc_g1n1k{MAX_LENGTH // 2 + 1}c1_{ONE}", "k"),
        (f"fwd_f16_nhwgc_g1n1k1c1_{ONE.replace('h1x1', f'h1x{MAX_LENGTH}')}", "input[1]"),
        (f"gemm_f16_rcr_m{MAX_LENGTH}n1k1", "m"),
        (f"reduction_f32_o{MAX_LENGTH}l1i1_sum", "outer"),
    ],
)
def test_values_above_the_largest_length_are_left_out(case: str, quantity: str) -> None:
    problem = parse_case_id(case)
    found = [near for near in problem.operation.space.nearby(problem) if near.quantity == quantity]
    assert {"1", "2"} < {near.new for near in found}
    assert all(int(near.new) <= MAX_LENGTH for near in found)
