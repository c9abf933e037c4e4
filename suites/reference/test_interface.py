"""What a naive kernel cannot do it refuses, and says by which clause."""

from bitgate.testing import refused

test_solved_refusal = refused("reference#solved_interface")
