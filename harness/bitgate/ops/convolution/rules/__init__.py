"""What a convolution's wrong cells have in common: what only a convolution has, and what any sum of products has."""

from bitgate.model.finding import Rule
from bitgate.ops.convolution.rules.aliased_d import aliased_d
from bitgate.ops.convolution.rules.border import border
from bitgate.ops.convolution.rules.channel_tail import channel_tail
from bitgate.ops.convolution.rules.k_tail import k_tail
from bitgate.ops.convolution.rules.missing_sub_gemm import missing_sub_gemm
from bitgate.ops.convolution.rules.pad_side import pad_side
from bitgate.ops.convolution.rules.split_slice import split_slice
from bitgate.ops.convolution.rules.taps import missing_tap
from bitgate.ops.convolution.rules.tile import sub_gemm_place, tile_tail
from bitgate.ops.convolution.rules.wrong_group import wrong_group
from bitgate.ops.convolution.rules.wrong_image import wrong_image
from bitgate.ops.convolution.rules.zero_fill import zero_fill

RULES: tuple[Rule, ...] = (
    missing_sub_gemm,
    zero_fill,
    aliased_d,
    wrong_group,
    wrong_image,
    pad_side,
    split_slice,
    k_tail,
    missing_tap,
    channel_tail,
    border,
    sub_gemm_place,
    tile_tail,
)
"""In the order in which equally certain findings are reported."""
