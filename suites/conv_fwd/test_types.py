"""Forward in 8 bits: y equals the exact reference in every bit, in i8, in both flavours of f8 and bf8, and mixed."""

from bitgate.testing import cases, verified

test_types = verified("conv_fwd#types")
test_large = verified("conv_fwd#large")


@cases("conv_fwd#main_loop", needs="dispatch")
def test_main_loop(planned, check, expect_dispatch):
    expect_dispatch(check(planned))
