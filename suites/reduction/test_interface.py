"""What a kernel cannot do it refuses, and says by which clause."""

from bitgate.testing import refused

test_refusal = refused("reduction#interface")
test_solved_refusal = refused("reduction#solved_interface")
