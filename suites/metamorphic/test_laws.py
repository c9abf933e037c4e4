"""Kernels keep the laws of a convolution, bit for bit; no reference takes part (docs/metamorphic.md)."""

from bitgate.plugin import cases
from bitgate.verify.laws import hold


@cases("metamorphic")
def test_convolution(planned, gate):
    gate(planned, by=hold)


@cases("metamorphic#gemm")
def test_gemm(planned, gate):
    gate(planned, by=hold)
