"""Weighted sums on every case of the table."""

from bitgate.suite.pytest import cases


@cases("sums")
def test_bits(planned, gate, took):
    took(gate(planned), path="a_row_a_thread")
