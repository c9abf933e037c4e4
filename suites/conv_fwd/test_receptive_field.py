"""One-hot x and w: each element reaches its receptive field, and no other cell."""

from bitgate.plugin import cases


@cases("conv_fwd#probe")
def test_receptive_field(planned, gate):
    gate(planned)
