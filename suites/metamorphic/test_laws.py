"""Kernels keep the laws of a convolution, bit for bit; no reference takes part (docs/metamorphic.md)."""

from bitgate.plugin import cases
from bitgate.verify.laws import judge_by_laws


@cases("metamorphic")
def test_convolution(planned, gate):
    gate(planned, by=judge_by_laws)


@cases("metamorphic#gemm")
def test_gemm(planned, gate):
    gate(planned, by=judge_by_laws)
