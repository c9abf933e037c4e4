"""Weighted sums on every case of the table."""

from bitgate.testing import cases


@cases("sums")
def test_bits(planned, check, expect_dispatch):
    expect_dispatch(check(planned), path="a_row_a_thread")
