"""Bits against bits: which logical cells of a result differ from the reference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.blocks import first_true, parts


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result and reference in logical order (any strides), and how many of ``total`` cells are wrong.

    A cell is wrong if any bit differs, or, if ``outside`` is given, where that is true.
    """

    result: Array
    reference: Array
    total: int
    count: int
    outside: NDArray[np.bool_] | None = None

    @property
    def equal(self) -> bool:
        return self.count == 0

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """True where a cell is wrong, in logical order."""
        if self.outside is not None:
            return self.outside
        return np.asarray(bits_of(self.result) != bits_of(self.reference))

    def first(self, limit: int = 10) -> tuple[tuple[int, ...], ...]:
        """Return the coordinates of the first wrong cells in logical order."""
        return tuple(first_true(self.mask, limit))

    @cached_property
    def largest_difference(self) -> float:
        """max |result - reference| over the wrong cells; inf where a NaN or an infinity is involved."""
        if self.equal:
            return 0.0
        # f32 holds the numbers of narrower types, and their differences precisely enough for a report.
        wide = np.float64 if self.result.dtype.itemsize > 2 else np.float32
        largest = 0.0
        for result, reference, wrong in parts(self.result, self.reference, self.mask):
            if not wrong.any():
                continue
            with np.errstate(invalid="ignore", over="ignore"):
                difference = np.abs(result[wrong].astype(wide) - reference[wrong].astype(wide))
            most = float(difference.max())
            if not most < np.inf:  # nor of NaN
                return np.inf
            largest = max(largest, most)
        return largest

    def rows(self, limit: int = 10) -> list[dict[str, Any]]:
        """Return the first wrong cells as data: coordinates, the result's number and the reference's."""
        return [
            {"at": list(cell), "result": number(self.result[cell]), "reference": number(self.reference[cell])}
            for cell in self.first(limit)
        ]


def compare(result: Array, reference: Array, outside: NDArray[np.bool_] | None = None) -> Comparison:
    """Compare two arrays of the same shape and type bit for bit, or by the cells that are outside their bounds."""
    ours, theirs = bits_of(result), bits_of(reference)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise ValueError(f"shapes {ours.shape} {result.dtype} and {theirs.shape} {reference.dtype} do not compare")
    if outside is not None:
        return Comparison(result, reference, result.size, int(np.count_nonzero(outside)), outside)
    count = 0 if np.array_equal(ours, theirs) else int(np.count_nonzero(ours != theirs))
    return Comparison(result, reference, result.size, count)


def number(value: Any) -> float | int | str:
    """Return a number for JSON, which has no NaN and no infinity: those are returned as text."""
    number = float(value)
    if not np.isfinite(number):
        return str(number)
    whole = number.is_integer() and abs(number) < 2**53 and not (number == 0 and np.signbit(number))
    return int(number) if whole else number
