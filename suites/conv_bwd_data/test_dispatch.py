"""The right bits by the right way: path, sub-GEMMs, launches and buckets are what the table and the maths say."""

from bitgate.operation import sub_gemms
from bitgate.testing import cases


@cases("conv_bwd_data#dispatch", needs="dispatch")
def test_dispatch(planned, check, expect_dispatch):
    expect_dispatch(check(planned), gemms_count=len(sub_gemms(planned.problem)))
