"""Backward data without groups launches each sub-GEMM by itself, in all its types."""

from bitgate.operation import sub_gemms
from bitgate.testing import cases


@cases("conv_bwd_data#nongrouped")
def test_nongrouped(planned, check, expect_dispatch):
    expect_dispatch(check(planned), launches=len(sub_gemms(planned.problem)))
