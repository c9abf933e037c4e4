"""Kernels keep the laws of a convolution, bit for bit; no reference takes part (docs/metamorphic.md)."""

from bitgate.suite.pytest import verified
from bitgate.verify.laws import judge_by_laws

test_convolution = verified("metamorphic", by=judge_by_laws)
test_gemm = verified("metamorphic#gemm", by=judge_by_laws)
