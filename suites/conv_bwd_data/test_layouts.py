"""Any layout gives the same bits: tensors without channels last go through transposed copies in the workspace."""

from bitgate.suite.pytest import SOME, cases


@cases("conv_bwd_data#layouts")
def test_layouts(planned, gate, took):
    took(gate(planned), transposes=SOME, workspace_bytes=SOME)
