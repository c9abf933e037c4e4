"""Do the vectors that threads move lie where memory is accessed in one go?"""

from __future__ import annotations

from bitgate.operation import Tensor

PROMISED_ALIGNMENT = 16
"""Bytes, of every base pointer."""
CHANNEL = 2
"""Dimension of a convolution's tensor, in logical order, along which vectors lie: c of x and w, k of y."""


def is_aligned(tensor: Tensor, vector: int, along: int = CHANNEL) -> bool:
    """Every vector of that many elements along a dimension starts at a multiple of its size."""
    if PROMISED_ALIGNMENT % (vector * tensor.dtype.bytes) != 0:
        return False
    # A plain loop: it is asked of each instance for each case, while cases are planned.
    for axis, stride in enumerate(tensor.strides):
        if stride % vector != 0 and axis != along and tensor.lengths[axis] > 1:
            return False
    return True
