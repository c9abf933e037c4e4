"""Backward weight gives the right bits: dw equals the exact reference in every bit, and nothing else is written."""

from bitgate.plugin import cases


@cases("conv_bwd_weight")
def test_bits(planned, gate):
    gate(planned)


@cases("conv_bwd_weight#grid")
def test_grid(planned, gate):
    gate(planned)


@cases("conv_bwd_weight#layouts")
def test_layouts(planned, gate):
    gate(planned)


@cases("conv_bwd_weight#types")
def test_types(planned, gate):
    gate(planned)
