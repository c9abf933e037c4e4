"""The wrong cells of a view as an array, read within limits whatever a record states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.results.record.view import PARTS, ViewError, box_of
from bitgate.results.report.page.shown import clean

MOST_CELLS = 8_000_000
"""Cells of the largest array; views that bitgate writes cover no more."""
MOST_AXES = 8
MOST_RUNS = 200_000
"""Numbers in the rows of a view: four times as many as fit into the 64 KiB of one that bitgate writes."""


@dataclass(frozen=True, eq=False)
class WrongCells:
    """The wrong cells of a result: ``kinds`` is 0 where a cell is right, else the place of its part in PARTS, from 1.

    It covers the cells in the box; ``counts`` are of all cells of the result.
    """

    axes: tuple[str, ...]
    lengths: tuple[int, ...]
    box: tuple[tuple[int, int], ...]
    kinds: NDArray[np.uint8]
    counts: dict[str, int]
    tile: tuple[int, ...]
    output: str
    thinned: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.kinds.shape

    @property
    def total(self) -> int:
        return prod(self.lengths)


def read_view(view: Mapping[str, Any]) -> WrongCells | None:
    """Return the wrong cells of a record's view; None for one without a mask, as records of other tools have.

    ViewError if it is none that can be drawn.
    """
    if not view.get("mask"):
        return None
    try:
        return _read(view)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
        if isinstance(error, ViewError):
            raise
        raise ViewError(f"not a view: {type(error).__name__}: {str(error)[:100]}") from None


def _read(view: Mapping[str, Any]) -> WrongCells:
    lengths = tuple(int(length) for length in view["lengths"][: MOST_AXES + 1])
    axes = tuple(clean(axis, 16) for axis in view["axes"][: MOST_AXES + 1])
    if not 0 < len(lengths) <= MOST_AXES or len(axes) != len(lengths) or min(lengths) < 1:
        raise ViewError(f"{len(axes)} axes of {len(lengths)} lengths: 1 to {MOST_AXES} are drawn")
    box = tuple(box_of(view))
    if len(box) != len(lengths) or not all(0 <= a < b <= n for (a, b), n in zip(box, lengths, strict=True)):
        raise ViewError("the box is not inside of the result")
    shape = tuple(end - first for first, end in box)
    if prod(shape) > MOST_CELLS:
        raise ViewError(f"{prod(shape)} cells: at most {MOST_CELLS} are drawn")
    split = int(view["mask"]["split"])
    if not 0 <= split <= len(shape):
        raise ViewError(f"split {split}: the result has {len(shape)} axes")
    kinds = np.zeros((prod(shape[:split]), prod(shape[split:])), np.uint8)
    for number, part in enumerate(PARTS, 1):
        if code := view["mask"].get(part):
            kinds[_mask(code, *kinds.shape)] = number
    counts = {part: int(view["parts"][part]) for part in PARTS if part in view["parts"]}
    tile = tuple(int(side) for side in (view.get("tile") or ())[:3])
    output = clean(view.get("output", ""), 64)
    return WrongCells(axes, lengths, box, kinds.reshape(shape), counts, tile, output, "box" in view)


def _mask(code: Mapping[str, Any], outer: int, inner: int) -> NDArray[np.bool_]:
    rows: Sequence[Sequence[int]] = code["rows"]
    if len(rows) > outer or sum(map(len, rows)) > MOST_RUNS:
        raise ViewError(f"{len(rows)} different rows of {outer}, or too many runs in them")
    different = np.zeros((len(rows), inner), bool)
    for row, runs in zip(different, rows, strict=True):
        edges = np.cumsum(np.asarray(runs, np.int64))
        if len(edges) and (min(runs) < 0 or edges[-1] > inner):
            raise ViewError(f"runs of a row do not fit into its {inner} cells")
        for first, end in zip(edges[::2], edges[1::2], strict=False):
            row[first:end] = True
    numbers, counts = (np.asarray(code["at"][start::2], np.int64) for start in (0, 1))
    is_whole = len(counts) == len(numbers) and not (counts < 0).any() and not (counts > outer).any()
    if not is_whole or (numbers < 0).any() or counts.sum() != outer:
        raise ViewError(f"the rows do not fill the {outer} places")
    return different[np.repeat(numbers, counts)]
