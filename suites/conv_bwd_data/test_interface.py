"""A kernel refuses what it cannot do, by a clause that it names."""

from bitgate.testing import refused

test_refusal = refused("conv_bwd_data#interface")
test_solved_refusal = refused("conv_bwd_data#solved_interface")
