"""Kernels keep the laws of a convolution, bit for bit; no reference takes part (docs/metamorphic.md)."""

from bitgate.testing import judge_by_laws, verified

test_convolution = verified("metamorphic", by=judge_by_laws)
test_gemm = verified("metamorphic#gemm", by=judge_by_laws)
