"""One-hot dy and w: each element reaches its receptive field, and no other cell."""

from bitgate.plugin import cases


@cases("conv_bwd_data#probe")
def test_receptive_field(planned, gate):
    gate(planned)
