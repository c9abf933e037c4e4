"""A kernel refuses what it cannot do, by a clause that it names."""

from bitgate.testing import refused

test_refusal = refused("attention#interface")
test_solved_refusal = refused("attention#solved_interface")
