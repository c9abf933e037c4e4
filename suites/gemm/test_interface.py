"""What a kernel cannot do it refuses, and says by which clause."""

from bitgate.testing import refused

test_refusal = refused("gemm#interface")
test_solved_refusal = refused("gemm#solved_interface")
