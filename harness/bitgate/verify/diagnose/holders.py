"""Search of a large tensor for the one element that holds a value."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.blocks import blocks, coordinates
from bitgate.numerics.one_hot import Index

_FOLDED = 1 << 16


def holders(tensor: Array, values: Collection[float]) -> dict[float, Index]:
    """Return the place of each of the values, none of them 0, that a single element holds.

    The search takes at most one pass over the tensor, and ends when two elements are known of every value.
    """
    wanted = _bits(tensor, values)
    counts = dict.fromkeys(wanted, 0)
    first: dict[int, Index] = {}
    for block in blocks(tensor.shape):
        sought = np.array([bits for bits, count in counts.items() if count < 2], bits_of(tensor[:0]).dtype)
        if not sought.size:
            break
        part = bits_of(tensor[block])
        flat, found = _found(part.reshape(-1), sought)
        each, where, often = np.unique(found, return_index=True, return_counts=True)
        for bits, place, count in zip(each, coordinates(block, part.shape, flat[where]), often, strict=True):
            counts[int(bits)] += int(count)
            first.setdefault(int(bits), place)
    return {wanted[bits]: first[bits] for bits, count in counts.items() if count == 1}


def _bits(tensor: Array, values: Collection[float]) -> dict[int, float]:
    """Return the values by their bits in the tensor's type, without those that the type does not have."""
    numbers = np.array(list(values), np.float64)
    with np.errstate(all="ignore"):
        cells = numbers.astype(tensor.dtype)
        held = cells.astype(np.float64) == numbers
    return {int(bits): float(value) for bits, value in zip(bits_of(cells)[held], numbers[held], strict=True)}


def _found(cells: Array, sought: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the places of the sought bits in a flat array, and the bits there.

    Wide bits are first folded into 16 for a table: no search is as fast as a look-up.
    """
    table = np.zeros(_FOLDED, np.bool_)
    table[_folded(sought)] = True
    flat = np.flatnonzero(table[_folded(cells)])
    found = cells[flat]
    is_sought = np.isin(found, sought)
    return flat[is_sought], found[is_sought]


def _folded(bits: Array) -> Array:
    while bits.dtype.itemsize > 2:
        half = 4 * bits.dtype.itemsize
        bits = (bits ^ (bits >> half)).astype(f"u{bits.dtype.itemsize // 2}")
    return bits
