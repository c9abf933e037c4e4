"""With G = 1 and stride > 1 (2D, no D tensor), dx needs all 4, 9 or 36 sub-GEMMs, not only the first (ALMIOPEN-1959).

Tests with stride > 1 used G = 2 and tests with G = 1 used stride 1, so nothing saw that the others were dropped.
"""

from bitgate.testing import cases


@cases("conv_bwd_data#gemms_count", g=1, strided=True, ndim=2, num_d=0, gemms_count=[4, 9, 36])
def test_every_sub_gemm_runs(planned, gemms_count, check, expect_dispatch):
    expect_dispatch(check(planned), gemms_count=gemms_count, launched=f"0-{gemms_count - 1}")
