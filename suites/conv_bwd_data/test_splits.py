"""Split reductions, split batches and main loops: the right bits, by the way that the table states."""

from bitgate.testing import cases


@cases("conv_bwd_data#split_k")
def test_split_k(planned, check, expect_dispatch):
    expect_dispatch(check(planned), split_k=max(1, planned.problem.split_k))


@cases("conv_bwd_data#split_n", needs="dispatch")
def test_split_n(planned, check, expect_dispatch):
    expect_dispatch(check(planned))


@cases("conv_bwd_data#main_loop", needs="dispatch")
def test_main_loop(planned, check, expect_dispatch):
    expect_dispatch(check(planned))
