"""Backward data without groups launches each sub-GEMM by itself, in all its types."""

from bitgate.plugin import cases
from bitgate.problem import sub_gemms


@cases("conv_bwd_data#nongrouped")
def test_nongrouped(planned, row, gate):
    ran = gate(planned).dispatch

    assert {name: ran[name] for name in row.dispatch} == row.dispatch
    assert ran["launches"] == len(sub_gemms(planned.problem))
