"""A kernel refuses what it cannot do, by a clause that it names."""

from bitgate.testing import refused

test_refusal = refused("reduction#interface")
test_solved_refusal = refused("reduction#solved_interface")
