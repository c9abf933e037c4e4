"""A reduction gives the right bits: every result equals the exact reference, and nothing else is written."""

from bitgate.plugin import cases


@cases("reduction")
def test_bits(planned, gate):
    gate(planned)


@cases("reduction#argmax")
def test_both_results(planned, gate):
    gate(planned)
