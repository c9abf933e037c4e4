"""Vectors of 16 bytes need pointers that a caller promises to be aligned to as many."""

from __future__ import annotations

import pytest

from bitgate.model import parse_case_id


@pytest.mark.parametrize(("alignment", "clause"), [(16, None), (8, "alignment"), (2, "alignment")])
@pytest.mark.parametrize(
    ("family", "instance", "direction"),
    [
        ("grouped_fwd", "f16_128x64x64_a8b8c8", "fwd"),
        ("grouped_bwd_data", "f16_128x64x64_a8b8c8", "bwd_data"),
        ("nongrouped_bwd_data", "f16_128x64x32_a8b8c8", "bwd_data"),
    ],
)
def test_promised_alignment(bench, family, instance, direction, alignment, clause):
    problem = parse_case_id(f"{direction}_f16_nhwgc_n1k8c8_y1_h2")
    refusal = bench.library(family).is_supported(problem, instance, alignment=alignment)
    assert (refusal and refusal.clause) == clause
