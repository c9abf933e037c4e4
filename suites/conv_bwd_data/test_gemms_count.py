"""With G = 1 and stride > 1 (2D, no D tensor), dx needs all 4, 9 or 36 sub-GEMMs, not only the first (ALMIOPEN-1959).

Tests of stride > 1 used G = 2 and those of G = 1 used stride 1, so nothing saw the other sub-GEMMs being dropped.
"""

import pytest

from bitgate.plugin import cases


@pytest.mark.parametrize("gemms_count", [4, 9, 36])
@cases("conv_bwd_data#gemms_count", g=1, stride_gt_1=True)
def test_every_sub_gemm_runs(planned, gemms_count, gate):
    dispatch = gate(planned).dispatch

    assert dispatch["gemms_count"] == gemms_count
    assert len(dispatch["launched"]) == gemms_count
