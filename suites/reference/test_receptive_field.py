"""One-hot operands of all passes: each element reaches its receptive field, and no other cell."""

from bitgate.testing import verified

test_receptive_field = verified("reference#probe")
