"""Forward in 8 bits: y equals the exact reference in every bit, in i8, in both flavours of f8 and bf8, and mixed."""

from bitgate.plugin import cases


@cases("conv_fwd#types")
def test_types(planned, gate):
    gate(planned)


@cases("conv_fwd#large")
def test_large(planned, gate):
    gate(planned)


@cases("conv_fwd#main_loop", needs="dispatch")
def test_main_loop(planned, gate, took):
    took(gate(planned))
