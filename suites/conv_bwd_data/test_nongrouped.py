"""Backward data without groups launches each sub-GEMM by itself, in all its types."""

from bitgate.plugin import cases
from bitgate.problem import sub_gemms


@cases("conv_bwd_data#nongrouped")
def test_nongrouped(planned, gate, took):
    took(gate(planned), launches=len(sub_gemms(planned.problem)))
