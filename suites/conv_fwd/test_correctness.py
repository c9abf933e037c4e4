"""Forward gives the right bits: y equals the exact reference in every bit, and nothing else is written."""

from bitgate.plugin import cases


@cases("conv_fwd")
def test_bits(planned, gate):
    gate(planned)


@cases("conv_fwd#numbers")
def test_numbers(planned, gate):
    gate(planned)
