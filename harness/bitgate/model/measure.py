"""What is known of a tensor's numbers without looking at them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Measure:
    """``largest`` |v|, how many elements are not zero, how many are not integers, and sums of |v| over all axes but
    those kept (in logical order)."""

    largest: float
    nonzeros: int
    fractions: int
    sums: NDArray[np.float64]


Measuring = Callable[[str, tuple[int, ...]], Measure]
"""``measuring(role, axes)``: what is known of a tensor, with sums of |v| over all axes but these; none: no sums."""
