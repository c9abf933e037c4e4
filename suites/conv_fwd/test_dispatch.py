"""The right bits by the right way: the path of the specialisation, one launch, and the chunks that split-N makes."""

from bitgate.testing import cases


@cases("conv_fwd#dispatch", needs="dispatch")
def test_dispatch(planned, check, expect_dispatch):
    expect_dispatch(check(planned))
