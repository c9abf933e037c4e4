"""Any layout gives the same bits: tensors without channels last go through transposed copies in the workspace."""

from bitgate.testing import SOME, cases


@cases("conv_bwd_data#layouts")
def test_layouts(planned, check, expect_dispatch):
    expect_dispatch(check(planned), transposes=SOME, workspace_bytes=SOME)
