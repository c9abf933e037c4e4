"""Forward gives the right bits: y equals the exact reference in every bit, and nothing else is written."""

from bitgate.testing import verified

test_bits = verified("conv_fwd")
test_numbers = verified("conv_fwd#numbers")
test_solved = verified("conv_fwd#solved")
