"""A reduction gives the right bits: every result equals the exact reference, and nothing else is written."""

from bitgate.testing import verified

test_bits = verified("reduction")
test_both_results = verified("reduction#argmax")
test_solved = verified("reduction#solved")
