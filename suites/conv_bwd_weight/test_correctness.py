"""Backward weight gives the right bits: dw equals the exact reference in every bit, and nothing else is written."""

from bitgate.testing import verified

test_bits = verified("conv_bwd_weight")
test_layouts = verified("conv_bwd_weight#layouts")
test_solved = verified("conv_bwd_weight#solved")
