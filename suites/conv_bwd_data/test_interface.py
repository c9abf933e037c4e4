"""What a kernel cannot do it refuses, and says by which clause."""

from bitgate.testing import refused

test_refusal = refused("conv_bwd_data#interface")
test_solved_refusal = refused("conv_bwd_data#solved_interface")
