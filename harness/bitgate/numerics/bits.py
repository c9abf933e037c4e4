"""Arrays as bits, the meaning of equality wherever results are compared, and iteration over large arrays part by part.

Temporaries of a part fit into a cache, and the whole is never copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def bits_of(array: Array) -> Array:
    """Return the same cells as unsigned integers of the same width: NaN equals the same NaN, -0 differs from 0."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


PART_CELLS = 1 << 20
"""The approximate size of a part."""

Block = tuple[slice, ...]


def blocks(shape: tuple[int, ...], cells: int = PART_CELLS) -> Iterator[Block]:
    """Yield blocks of at most ``cells`` cells that cover an array in row-major order, each a run of that order."""
    if not shape:
        yield ()
        return
    length, inner = shape[0], prod(shape[1:])
    if inner <= cells:
        step = max(1, cells // max(1, inner))
        yield from ((slice(first, min(first + step, length)),) for first in range(0, length, step))
        return
    for index in range(length):
        yield from ((slice(index, index + 1), *rest) for rest in blocks(shape[1:], cells))


def parts(*arrays: Array, cells: int = PART_CELLS) -> Iterator[tuple[Array, ...]]:
    """Yield arrays of one shape part by part, in the order of the first one's memory.

    Each cell comes once, and the cells of a part have the same places in all arrays.
    """
    first = arrays[0]
    if not first.ndim:
        yield tuple(array.reshape(1) for array in arrays)
        return
    order = sorted(range(first.ndim), key=lambda axis: -abs(first.strides[axis]))
    turned = [array.transpose(order) for array in arrays]
    for block in blocks(turned[0].shape, cells):
        yield tuple(array[block] for array in turned)


def first_true(mask: NDArray[np.bool_], limit: int) -> list[tuple[int, ...]]:
    """Return coordinates of the first cells in logical order that are true, at most ``limit``."""
    found: list[tuple[int, ...]] = []
    for block in blocks(mask.shape):
        part = mask[block]
        if part.any():
            found += (place for place in coordinates(block, part.shape, np.flatnonzero(part)[: limit - len(found)]))
        if len(found) >= limit:
            break
    return found


def coordinates(block: Block, shape: tuple[int, ...], flat: NDArray[np.intp]) -> Iterator[tuple[int, ...]]:
    """Yield the coordinates in the whole array of places in a block of this shape."""
    origin = [part.start for part in block] + [0] * (len(shape) - len(block))
    for place in zip(*np.unravel_index(flat, shape), strict=True) if shape else [()] * len(flat):
        yield tuple(int(index) + start for index, start in zip(place, origin, strict=True))
