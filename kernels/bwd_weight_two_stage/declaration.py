"""Grouped convolution, backward weight, in two stages: a workspace of floats, rounded to dw once."""

from __future__ import annotations

from ..backward_weight import LARGE_16, PAIR_16, PAIR_32, Way, shared_family

ROWS = (("f32", "f32", PAIR_32), ("f16", "f16", PAIR_16 + LARGE_16), ("bf16", "bf16", PAIR_16 + LARGE_16))

FAMILY = shared_family(__file__, Way("two_stage", stages=2), ROWS, "TwoStageInstances", large=("f16", "bf16"))
