"""The cases of the sample give the right bits."""

from bitgate.testing import verified

test_bits = verified("sample")
