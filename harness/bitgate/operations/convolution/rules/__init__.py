"""What a convolution's wrong cells have in common: what only a convolution has, and what any sum of products has."""

from bitgate.operation.finding import Rule
from bitgate.operations.convolution.rules.aliased_d import aliased_d
from bitgate.operations.convolution.rules.border import border
from bitgate.operations.convolution.rules.channel_tail import channel_tail
from bitgate.operations.convolution.rules.k_tail import k_tail
from bitgate.operations.convolution.rules.missing_sub_gemm import missing_sub_gemm
from bitgate.operations.convolution.rules.pad_side import pad_side
from bitgate.operations.convolution.rules.split_slice import split_slice
from bitgate.operations.convolution.rules.taps import missing_tap
from bitgate.operations.convolution.rules.tile import sub_gemm_place, tile_tail
from bitgate.operations.convolution.rules.wrong_group import wrong_group
from bitgate.operations.convolution.rules.wrong_image import wrong_image
from bitgate.operations.convolution.rules.zero_fill import zero_fill

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
