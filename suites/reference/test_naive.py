"""The naive kernels agree with the CPU references bit for bit: they verify other kernels where no CPU keeps up."""

from bitgate.testing import verified

test_bits = verified("reference")
test_numbers = verified("reference#numbers")
test_solved = verified("reference#solved")
