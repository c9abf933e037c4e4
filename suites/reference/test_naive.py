"""The naive kernels agree with the CPU references bit for bit: they verify other kernels where no CPU keeps up."""

from bitgate.plugin import cases


@cases("reference")
def test_bits(planned, gate):
    gate(planned)


@cases("reference#numbers")
def test_numbers(planned, gate):
    gate(planned)
