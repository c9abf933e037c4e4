"""Backward data gives the right bits: dx equals the exact reference in every bit, and nothing else is written."""

from bitgate.testing import verified

test_bits = verified("conv_bwd_data")
test_numbers = verified("conv_bwd_data#numbers")
test_solved = verified("conv_bwd_data#solved")
