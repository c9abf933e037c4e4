"""The planes of a result that a picture shows: axes that are drawn, folded or set apart, and what each square holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from bitgate.results.record.view import PARTS
from bitgate.results.report.page.wrong_cells import WrongCells

SIDE = 64
"""Squares along a side of a plane at most; longer axes are coarsened."""
LINE = 128
"""Squares of a line at most."""
SMALL = 64
"""A plane of fewer cells, as the taps of a filter are, gives way to one of longer folded axes."""
MOST_UNEQUAL = 8
"""Squares along an axis that would be left if its squares were as long as the other axis', below which they are not."""
LEVELS = (0.0, 0.1, 0.5, 0.9)
"""Lower ends of the shares of wrong cells that are drawn with one strength each."""
CHANNELS = frozenset("ck")
"""Axes that are folded: a picture of a convolution is of its images, whatever the number of channels."""


@dataclass(frozen=True)
class AxisRoles:
    """The roles of a result's axes, by their numbers: ``rows`` and ``columns`` span the plane, ``apart`` give one plane
    for each of their coordinates, and all others are folded into the squares. ``rows`` is None for a line."""

    rows: int | None
    columns: int
    folded: tuple[int, ...]
    apart: tuple[int, ...]


def roles_of(axes: Sequence[str], lengths: Sequence[int]) -> AxisRoles:
    """Choose what is drawn: the last two axes, or the longest folded ones where those are tiny."""
    apart = tuple(axis for axis in range(len(axes) - 2) if axes[axis] not in CHANNELS)
    inner = [axis for axis in range(len(axes)) if axis not in apart]
    drawn = [axis for axis in inner if lengths[axis] > 1][-2:] or inner[-1:]
    if len(inner) > 2 and prod(lengths[axis] for axis in drawn) < SMALL:
        drawn = sorted(sorted(inner, key=lambda axis: -lengths[axis])[:2])
    folded = tuple(axis for axis in inner if axis not in drawn)
    return AxisRoles(drawn[0] if len(drawn) > 1 else None, drawn[-1], folded, apart)


@dataclass(frozen=True, eq=False)
class Squares:
    """A grid of squares of ``step`` cells along each side: 0 is right, else 4 * (place in PARTS) + level + 1."""

    codes: NDArray[np.uint8]
    step: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Plane:
    """One picture, and the coordinates along the axes that are set apart whose pictures all look like it."""

    squares: Squares
    places: tuple[tuple[int, ...], ...]


def planes_of(cells: WrongCells, roles: AxisRoles, side: int = SIDE, across: int = 0) -> list[Plane]:
    """Return the different planes, those of the most places first; planes without a wrong cell are left out.

    ``across`` is the most squares of a row where that is not ``side``.
    """
    shape = [cells.shape[axis] for axis in roles.apart]
    squares = _squares(cells, roles, (side, across or (LINE if roles.rows is None else side)))
    stacked = squares.codes.reshape(prod(shape), *squares.codes.shape[-2:])
    alike: dict[bytes, list[int]] = {}
    for number, codes in enumerate(stacked):
        if codes.any():
            alike.setdefault(codes.tobytes(), []).append(number)
    firsts = [cells.box[axis][0] for axis in roles.apart]
    found = []
    for numbers in alike.values():
        places = [np.unravel_index(number, shape) if shape else () for number in numbers]
        moved = tuple(tuple(int(at) + first for at, first in zip(one, firsts, strict=True)) for one in places)
        found.append(Plane(Squares(stacked[numbers[0]], squares.step), moved))
    return sorted(found, key=lambda plane: (-len(plane.places), plane.places[0]))


def line_of(cells: WrongCells, axis: int) -> Squares:
    """Return the squares of one axis, all others folded."""
    others = tuple(other for other in range(len(cells.shape)) if other != axis)
    return _squares(cells, AxisRoles(None, axis, others, ()), (1, LINE))


def _squares(cells: WrongCells, roles: AxisRoles, sides: tuple[int, int]) -> Squares:
    drawn = ((roles.rows,) if roles.rows is not None else ()) + (roles.columns,)
    steps = _steps([cells.shape[axis] for axis in drawn], sides[-len(drawn) :])
    last = range(-len(drawn), 0)
    order = (*roles.folded, *roles.apart, *drawn)
    kinds = cells.kinds.transpose(order)
    folded = prod(kinds.shape[: len(roles.folded)])
    kinds = kinds.reshape(folded, *kinds.shape[len(roles.folded) :])
    counts = np.stack([_binned((kinds == part).sum(0), last, steps) for part in range(1, len(PARTS) + 1)])
    sizes = _binned(np.full(kinds.shape[1:], folded), last, steps)
    codes = coded(counts, sizes)
    if roles.rows is None:
        codes = codes[..., None, :]
    return Squares(codes, (steps[0] if len(steps) > 1 else 1, steps[-1]))


def _steps(lengths: Sequence[int], sides: Sequence[int]) -> list[int]:
    """Return the cells along the sides of a square: powers of two, as tiles are, and equal unless an axis is short."""
    steps = [1 << (-(-length // side) - 1).bit_length() for length, side in zip(lengths, sides, strict=True)]
    largest = max(steps)
    return [largest if length // largest >= MOST_UNEQUAL else step for length, step in zip(lengths, steps, strict=True)]


def coded(counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return codes of squares: the most frequent part, and the level of the share that is wrong.

    The first axis of ``counts`` is the part.
    """
    wrong = counts.sum(0)
    share = wrong / np.maximum(sizes, 1)
    level = np.searchsorted(np.asarray(LEVELS), share, side="right") - 1
    code = len(LEVELS) * counts.argmax(0) + level + 1
    return np.where(wrong > 0, code, 0).astype(np.uint8)


def _binned(array: NDArray[np.int64], axes: Sequence[int], steps: Sequence[int]) -> NDArray[np.int64]:
    for axis, step in zip(axes, steps, strict=True):
        if step > 1:
            array = np.add.reduceat(array, np.arange(0, array.shape[axis], step), axis=axis)
    return array


def split_code(code: int) -> tuple[str, int]:
    """Return part and level of a square that is wrong."""
    part, level = divmod(code - 1, len(LEVELS))
    return PARTS[part], level
