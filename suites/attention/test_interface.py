"""What a kernel cannot do it refuses, and says by which clause."""

from bitgate.testing import refused

test_refusal = refused("attention#interface")
