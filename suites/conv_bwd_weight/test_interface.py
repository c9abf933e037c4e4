"""A kernel refuses what it cannot do, by a clause that it names."""

from bitgate.testing import refused

test_refusal = refused("conv_bwd_weight#interface")
test_solved_refusal = refused("conv_bwd_weight#solved_interface")
