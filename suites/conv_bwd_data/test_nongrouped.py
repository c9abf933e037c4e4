"""Backward data without groups launches each sub-GEMM by itself, in all its types."""

from bitgate.ops.convolution import sub_gemms
from bitgate.suite.pytest import cases


@cases("conv_bwd_data#nongrouped")
def test_nongrouped(planned, gate, took):
    took(gate(planned), launches=len(sub_gemms(planned.problem)))
