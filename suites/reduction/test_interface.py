"""What a kernel cannot do it refuses, and says by which clause."""

from bitgate.plugin import cases


@cases("reduction#interface", needs="refused")
def test_refusal(planned, row, gate):
    clause, _, _ = gate(planned).reason.partition(":")
    assert clause == row.refused
