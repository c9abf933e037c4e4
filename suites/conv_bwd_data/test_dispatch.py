"""The right bits by the right way: path, sub-GEMMs, launches and buckets are what the table and the maths say."""

from bitgate.ops.convolution import sub_gemms
from bitgate.suite.pytest import cases


@cases("conv_bwd_data#dispatch", needs="dispatch")
def test_dispatch(planned, gate, took):
    took(gate(planned), gemms_count=len(sub_gemms(planned.problem)))
