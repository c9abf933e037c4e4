"""The places of a tensor's cells in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


def by_axis(lengths: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Places, ...]:
    """Return how far each coordinate of each axis moves a cell in memory, in elements."""
    return tuple(np.arange(length, dtype=np.int64) * stride for length, stride in zip(lengths, strides, strict=True))


def offsets(lengths: tuple[int, ...], strides: tuple[int, ...]) -> Places:
    """Return the place of each cell in memory, in elements."""
    return places_along(by_axis(lengths, strides))


def places_along(along: Sequence[Places]) -> Places:
    """Return the place of each cell, from what each coordinate of each axis adds to it."""
    places = np.zeros([axis.size for axis in along], np.int64)
    for number, axis in enumerate(along):
        places += axis.reshape([-1 if a == number else 1 for a in range(len(along))])
    return places
