"""Grouped convolution, backward weight, multiple D: scale, bilinear ... of dw, applied once, after the reduction."""

from __future__ import annotations

from ..backward_weight import PAIR_16, PAIR_32, PAIR_MIXED, Way, shared_family

ROWS = (
    ("f32", "f32", PAIR_32),
    ("f16", "f16", PAIR_16),
    ("bf16", "bf16", PAIR_16),
    ("bf16_f32", "bf16_f32_bf16", PAIR_MIXED),
)

FAMILY = shared_family(__file__, Way("multiple_d", stages=2, operations=True), ROWS, "MultipleDInstances")
