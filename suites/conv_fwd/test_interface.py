"""What a kernel cannot do it refuses, and says by which clause."""

from bitgate.testing import refused

test_refusal = refused("conv_fwd#interface")
test_solved_refusal = refused("conv_fwd#solved_interface")
