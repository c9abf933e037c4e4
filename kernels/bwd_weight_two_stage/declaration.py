"""Grouped convolution, backward weight, in two stages: a workspace of floats, rounded to dw once."""

from __future__ import annotations

from functools import partial

from ..backward_weight import PAIR_16, PAIR_32, Way, family, instances, shared_table

ROWS = (("f32", "f32", PAIR_32), ("f16", "f16", PAIR_16), ("bf16", "bf16", PAIR_16))

WAY = Way("two_stage", stages=2)
FAMILY = family(__file__, WAY, instances(__file__, WAY, ROWS), partial(shared_table, "Pair"))
