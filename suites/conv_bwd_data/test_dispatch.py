"""The right bits by the right way: path, sub-GEMMs, launches and buckets are what the table and the maths say."""

from bitgate.plugin import cases
from bitgate.problem import sub_gemms

BUCKET = 32


@cases("conv_bwd_data#dispatch")
def test_dispatch(planned, row, gate):
    ran = gate(planned).dispatch

    assert {name: ran[name] for name in row.dispatch} == row.dispatch
    assert ran["gemms_count"] == len(sub_gemms(planned.problem))
