"""What a kernel cannot do it refuses, and says by which clause."""

from bitgate.plugin import cases


@cases("conv_bwd_weight#interface")
def test_refusal(planned, row, gate):
    assert gate(planned).reason.startswith(row.refused)
