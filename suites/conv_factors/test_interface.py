"""A kernel refuses an operand's own compute type that it does not have, by a clause that it names."""

from bitgate.testing import refused

test_refusal = refused("conv_factors#interface")
test_solved_refusal = refused("conv_factors#solved_interface")
