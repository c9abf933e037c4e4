"""Grouped convolution, backward weight, in one stage: slices of a split reduction add up in dw, in dw's own type."""

from __future__ import annotations

from ..backward_weight import LARGE_16, PAIR_16, PAIR_32, PAIR_MIXED, Way, shared_family
from ..cpp_names import F16_IN_F8_OUT_BF8
from ..shape import POINTWISE, POINTWISE_STRIDE_1, Shape

SHAPES_16 = (
    *PAIR_16,
    Shape((64, 32, 32), (4, 4, 4), 1, (32, 32, 8), 64),
    Shape((64, 64, 32), (8, 8, 8), 2, (32, 32, 8), 64, POINTWISE),
    Shape((64, 64, 64), (8, 8, 8), 2, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((16, 16, 32), (1, 1, 1), 1, (16, 16, 16), 64, merge=8),
    Shape((64, 32, 32), (4, 4, 4), 2, (16, 16, 16), 32, POINTWISE_STRIDE_1),
    Shape((16, 16, 32), (1, 1, 1), 1, (16, 16, 16), 32, merge=8),
    *LARGE_16,
)
SHAPES_32 = (
    *PAIR_32,
    Shape((64, 32, 16), (2, 2, 2), 1, (16, 16, 4), 64),
    Shape((64, 64, 16), (4, 4, 4), 2, (16, 16, 4), 64, POINTWISE),
    Shape((64, 64, 32), (4, 4, 4), 2, (16, 16, 4), 64, POINTWISE_STRIDE_1),
    Shape((16, 16, 16), (1, 1, 1), 1, (16, 16, 4), 64, merge=8),
    Shape((64, 32, 16), (2, 2, 2), 2, (16, 16, 4), 32, POINTWISE_STRIDE_1),
    Shape((16, 16, 16), (1, 1, 1), 1, (16, 16, 4), 32, merge=8),
)
PAIR_8 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 32), 64),
    Shape((64, 64, 64), (8, 8, 8), 2, (16, 16, 32), 64),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32),
    Shape((64, 64, 64), (8, 8, 8), 4, (16, 16, 16), 32),
)
ROWS = (
    ("f32", "f32", SHAPES_32),
    ("f16", "f16", SHAPES_16),
    ("bf16", "bf16", SHAPES_16),
    ("bf16_f32", "bf16_f32_bf16", PAIR_MIXED),
    ("i8", "i8", PAIR_8),
    *(("f16_ct8", f"f16_ct{factor}", PAIR_8) for factor in ("f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz")),
    *(("f16_ct_bf8_f8", dtypes, PAIR_8) for dtypes in F16_IN_F8_OUT_BF8),
)

FAMILY = shared_family(
    __file__,
    Way("one_stage", stages=1, atomics=True),
    ROWS,
    "OneStageInstances",
    whole=("f32", "f16", "bf16"),
    large=("f16", "bf16"),
)
