"""Do the vectors that threads move lie where memory is accessed in one go?"""

from __future__ import annotations

from bitgate.operation import Tensor

PROMISED_ALIGNMENT = 16
"""Bytes, of every base pointer."""
CHANNEL = 2
"""Dimension of a convolution's tensor, in logical order, along which vectors lie: c of x and w, k of y."""


def is_aligned(tensor: Tensor, vector: int, along: int = CHANNEL) -> bool:
    """Every vector of that many elements along a dimension starts at a multiple of its size."""
    outer = [s for i, (n, s) in enumerate(zip(tensor.lengths, tensor.strides, strict=True)) if i != along and n > 1]
    return PROMISED_ALIGNMENT % (vector * tensor.dtype.bytes) == 0 and all(stride % vector == 0 for stride in outer)
