"""Convolutions in two compute types give the right bits, and nothing else is written."""

from bitgate.testing import verified

test_bits = verified("conv_factors")
test_solved = verified("conv_factors#solved")
