"""Arrays as bits: the meaning of equality wherever results are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def bits_of(array: Array) -> Array:
    """Return the same cells as unsigned integers of the same width: NaN equals the same NaN, -0 differs from 0."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))
