"""Backward data gives the right bits: dx equals the exact reference in every bit, and nothing else is written."""

from bitgate.plugin import cases


@cases("conv_bwd_data")
def test_bits(planned, gate):
    gate(planned)


@cases("conv_bwd_data#numbers")
def test_numbers(planned, gate):
    gate(planned)
