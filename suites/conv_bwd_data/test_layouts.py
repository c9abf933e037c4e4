"""Any layout gives the same bits: tensors without channels last go through transposed copies in the workspace."""

from bitgate.plugin import cases


@cases("conv_bwd_data#layouts")
def test_layouts(planned, row, gate):
    ran = gate(planned).dispatch

    assert ran["transposes"] > 0
    assert ran["workspace_bytes"] > 0
    assert {name: ran[name] for name in row.dispatch} == row.dispatch
