"""Grouped convolution, backward weight, multiple D: scale, bilinear ... of dw, applied once, after the reduction."""

from __future__ import annotations

from functools import partial

from ..backward_weight import PAIR_16, PAIR_32, PAIR_MIXED, Way, family, instances, shared_table

ROWS = (
    ("f32", "f32", PAIR_32),
    ("f16", "f16", PAIR_16),
    ("bf16", "bf16", PAIR_16),
    ("bf16_f32", "bf16_f32_bf16", PAIR_MIXED),
)

WAY = Way("multiple_d", stages=2, operations=True)
FAMILY = family(__file__, WAY, instances(__file__, WAY, ROWS), partial(shared_table, "Pair"))
