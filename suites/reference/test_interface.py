"""Naive kernels refuse the problems that they cannot compute, each by the expected clause."""

from bitgate.testing import refused

test_solved_refusal = refused("reference#solved_interface")
