"""The rules of a convolution's wrong cells: those that only a convolution has, and those of any sum of products."""

from bitgate.model.finding import Rule
from bitgate.ops.convolution.rules.places import (
    border,
    channel_tail,
    moved_rows,
    repeated,
    tile_tail,
    wrong_group,
    wrong_image,
)
from bitgate.ops.convolution.rules.recomputed import missing_part, mistaken
from bitgate.ops.convolution.rules.sub_gemms import missing_sub_gemm, sub_gemm_place, unreached, zero_fill
from bitgate.ops.convolution.rules.sums import aliased_d, k_tail, missing_tap, pad_side, split_slice

RULES: tuple[Rule, ...] = (
    missing_sub_gemm,
    zero_fill,
    unreached,
    aliased_d,
    wrong_group,
    wrong_image,
    pad_side,
    split_slice,
    k_tail,
    missing_tap,
    mistaken,
    missing_part,
    moved_rows,
    channel_tail,
    border,
    sub_gemm_place,
    tile_tail,
    repeated,
)
"""The order in which equally certain findings are reported."""
