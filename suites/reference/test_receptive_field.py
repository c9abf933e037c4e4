"""One-hot operands of all passes: each element reaches its receptive field, and no other cell."""

from bitgate.plugin import cases


@cases("reference#probe")
def test_receptive_field(planned, gate):
    gate(planned)
