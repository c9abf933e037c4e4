"""One-hot x and w: each element reaches its receptive field, and no other cell."""

from bitgate.testing import verified

test_receptive_field = verified("conv_fwd#probe")
