"""What a kernel cannot do it refuses, and says by which clause."""

from bitgate.testing import refused

test_refusal = refused("conv_bwd_weight#interface")
test_solved_refusal = refused("conv_bwd_weight#solved_interface")
