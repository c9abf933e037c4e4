"""Sub-GEMMs of backward data, from the case id alone: which of them owns which cell of dx.

A merge has no operations (see docs/architecture.md), so that the residue classes are computed from the id here; a test
holds them to those of the operation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

_SIZES = "".join(rf"_{letter}(?P<{letter}>\d+(?:x\d+){{0,2}})" for letter in "yhsdpq")
_CASE = re.compile(rf"bwd_data_.*?_g\d+n\d+k\d+c\d+{_SIZES}(?:_|\Z)")
LARGEST = 1 << 20
"""The largest size of an axis that is looked at."""


@dataclass(frozen=True, eq=False)
class AxisClasses:
    """The residue classes of a spatial axis: ``of`` holds for each coordinate its class, -1 if no class reaches it."""

    stride: int
    pad: int
    count: int
    of: NDArray[np.int64]


@dataclass(frozen=True)
class SubGemmMap:
    """The classes of all spatial axes; a sub-GEMM is one class of each, counted with the slowest axis first."""

    axes: tuple[AxisClasses, ...]

    @property
    def count(self) -> int:
        return prod(axis.count for axis in self.axes)

    def index(self, classes: tuple[int, ...]) -> int:
        number = 0
        for axis, found in zip(self.axes, classes, strict=True):
            number = number * axis.count + found
        return number

    def owners(self, box: Sequence[tuple[int, int | None]] | None = None) -> NDArray[np.int64]:
        """Return for each spatial position in a box the index of its sub-GEMM, -1 if none reaches it."""
        owner = np.zeros((), np.int64)
        reached = np.ones((), bool)
        for axis, span in zip(self.axes, box or [(0, None)] * len(self.axes), strict=True):
            of = axis.of[slice(*span)]
            owner = owner[..., None] * axis.count + of
            reached = reached[..., None] & (of >= 0)
        return np.where(reached, owner, -1)


def sub_gemm_map(case: str) -> SubGemmMap | None:
    """Return the sub-GEMMs that a case id implies; None if there is one, or it is no backward data."""
    match = _CASE.match(case)
    if match is None:
        return None
    sizes = [tuple(map(int, match[letter].split("x"))) for letter in "yhsdpq"]
    if len({len(size) for size in sizes}) != 1 or any(size > LARGEST for one in sizes for size in one):
        return None
    if min(map(min, sizes[:4])) < 1:
        return None
    found = SubGemmMap(tuple(_classes(*of_axis) for of_axis in zip(*sizes, strict=True)))
    return found if found.count > 1 else None


def _classes(taps: int, length: int, stride: int, dilation: int, pad: int, right: int) -> AxisClasses:
    count = min(taps, stride // gcd(stride, dilation))
    reach = dilation * (taps - 1)
    outputs = (length + pad + right - reach - 1) // stride + 1
    windows = outputs + -(-reach // stride)
    place = np.arange(length) + pad
    of = np.full(length, -1, np.int64)
    for number in range(count):
        offset = place - number * dilation
        of[(offset % stride == 0) & (offset >= 0) & (offset // stride < windows)] = number
    return AxisClasses(stride, pad, count, of)
