"""Main loops of forward take the steps that the table states, and giant strides give the right bits."""

from bitgate.testing import cases, verified

test_large = verified("conv_fwd#large")


@cases("conv_fwd#main_loop", needs="dispatch")
def test_main_loop(planned, check, expect_dispatch):
    expect_dispatch(check(planned))
