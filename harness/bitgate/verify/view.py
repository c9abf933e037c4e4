"""The view of a wrong result: from result and reference to the data that a red line of the record carries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.numerics.bits import Array, bits_of, first_true, parts
from bitgate.results.record.view import LIMIT, PARTS, size

CELLS = 8_000_000
"""Cells that are drawn at most; counts are always of all."""

Mask = NDArray[np.bool_]
Box = tuple[slice, ...]


def view_of(
    result: Array,
    wrong: Mask,
    poison: int,
    axes: Sequence[str],
    tile: Sequence[int] | None = None,
    limit: int = LIMIT,
) -> dict[str, Any]:
    """Return the view of ``result``, whose cells are wrong where ``wrong`` is true, in at most ``limit`` bytes.

    ``poison`` holds the bits of a cell that was never written. What does not fit is left out, and the view says so.
    """
    view: dict[str, Any] = {
        "axes": list(axes),
        "lengths": list(result.shape),
        "tile": list(tile) if tile else None,
        "parts": _counts(result, wrong, poison),
    }
    focus = (first_true(wrong, 1) or [(0,) * wrong.ndim])[0]
    box: Box = tuple(slice(0, length) for length in result.shape)
    while True:
        mask = _mask(result[box], wrong[box], poison, limit) if _cells(box) <= CELLS else None
        if mask is not None:
            whole = _cells(box) == result.size
            left_out = (
                {} if whole else {"box": [[s.start, s.stop] for s in box], "thinned": _thinned(box, result, axes)}
            )
            masked = view | {"mask": mask} | left_out
            if size(masked) <= limit or _cells(box) == 1:
                return masked
        box = _halved(box, focus)


def _counts(result: Array, wrong: Mask, poison: int) -> dict[str, int]:
    """Return the number of wrong cells by part; parts without any are left out."""
    counts = dict.fromkeys(PARTS, 0)
    for cells, where in parts(result, wrong):
        if where.any():
            for name, hit in _kinds(cells[where], poison).items():
                counts[name] += int(np.count_nonzero(hit))
    return {name: counts[name] for name in PARTS if counts[name]}


def _kinds(cells: Array, poison: int) -> dict[str, Mask]:
    """Return a mask for each part; each cell is in one. Cells that were never written hold a NaN too, and are kept
    apart."""
    unwritten = np.asarray(bits_of(cells) == poison)
    with np.errstate(invalid="ignore"):  # poison is a signalling NaN
        nan = np.asarray(cells != cells) & ~unwritten
        zero = np.asarray(cells == cells.dtype.type(0)) & ~unwritten
    return {"nan": nan, "zero": zero, "poison": unwritten, "other": ~(nan | zero | unwritten)}


def _mask(result: Array, wrong: Mask, poison: int, limit: int) -> dict[str, Any] | None:
    """Return the mask, coded with the split of the axes of the shortest text; None if that exceeds ``limit``."""
    masks = {name: where & wrong for name, where in _kinds(result, poison).items()}
    shown = [_Rows(masks[name], name) for name in PARTS if masks[name].any()]
    split = min(range(result.ndim), key=lambda axis: sum(rows.bytes(axis) for rows in shown))
    if sum(rows.bytes(split) for rows in shown) > limit:
        return None
    return {"split": split, **{rows.name: rows.code(split) for rows in shown}}


class _Rows:
    """The mask of one part, as rows of the axes from ``split`` on."""

    def __init__(self, mask: Mask, name: str) -> None:
        self.mask = mask
        self.name = name
        self._seen: dict[int, tuple[Mask, NDArray[np.intp]]] = {}

    def bytes(self, split: int) -> int:
        """Return the least size of the code: two bytes a number."""
        rows, at = self._different(split)
        edges = np.count_nonzero(rows[:, 1:] != rows[:, :-1]) + len(rows)
        return 2 * int(edges + 2 * np.count_nonzero(np.diff(at)))

    def code(self, split: int) -> dict[str, list[Any]]:
        rows, at = self._different(split)
        return {"rows": [_runs(row) for row in rows], "at": _repeats(at)}

    def _different(self, split: int) -> tuple[Mask, NDArray[np.intp]]:
        """Return the distinct rows by their first appearance, and for each place the number of its row."""
        if split not in self._seen:
            flat = self.mask.reshape(-1, int(np.prod(self.mask.shape[split:])))
            packed = np.packbits(flat, axis=1)
            lines = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
            _, first, number = np.unique(lines, return_index=True, return_inverse=True)
            order = np.argsort(first)
            rank = np.empty_like(order)
            rank[order] = np.arange(order.size)
            self._seen[split] = flat[first[order]], rank[number.ravel()]
        return self._seen[split]


def _runs(row: Mask) -> list[int]:
    """Return lengths of runs, cells that are not wrong first; a last run that is not wrong is left out."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], row, [False])).astype(np.int8)))
    return [int(run) for run in np.diff(edges, prepend=0)]


def _repeats(numbers: NDArray[Any]) -> list[int]:
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    counts = np.diff(starts, append=numbers.size)
    return [int(value) for pair in zip(numbers[starts], counts, strict=True) for value in pair]


def _cells(box: Box) -> int:
    return int(np.prod([s.stop - s.start for s in box]))


def _halved(box: Box, focus: tuple[int, ...]) -> Box:
    """Return half of the box along its longest axis before the last two, else along its longest: planes stay whole as
    long as possible. It keeps the first wrong cell."""
    lengths = [s.stop - s.start for s in box]
    outer = lengths[:-2]
    axis = outer.index(max(outer)) if outer and max(outer) > 1 else lengths.index(max(lengths))
    start, stop, half = box[axis].start, box[axis].stop, -(-lengths[axis] // 2)
    kept = slice(start, start + half) if focus[axis] < start + half else slice(start + half, stop)
    return (*box[:axis], kept, *box[axis + 1 :])


def _thinned(box: Box, result: Array, axes: Sequence[str]) -> str:
    cut = [
        f"{axis} {s.start} to {s.stop - 1} of {length}"
        for axis, s, length in zip(axes, box, result.shape, strict=True)
        if s.stop - s.start < length
    ]
    return f"the mask covers {', '.join(cut)} only; the counts are of all cells"
