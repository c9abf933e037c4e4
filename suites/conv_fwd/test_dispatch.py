"""The right bits by the right way: the path of the specialisation, one launch, and the chunks that split-N makes."""

from bitgate.suite.pytest import cases


@cases("conv_fwd#dispatch", needs="dispatch")
def test_dispatch(planned, gate, took):
    took(gate(planned))
