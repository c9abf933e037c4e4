"""Batched GEMM gives the right bits: C equals the exact reference in every bit, and nothing else is written."""

from bitgate.testing import verified

test_bits = verified("gemm")
test_solved = verified("gemm#solved")
