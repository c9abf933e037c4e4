"""Figures that explain a problem: squares, bars and trees as data, which a terminal or a page can draw. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bitgate.model.thread_map import Cell, Steps, SumLevel, ThreadMap

MOST_SQUARES = 64
"""Squares along a side; longer axes are cut."""
PLAIN, PADDING, UNREACHED, UNLAUNCHED = "plain", "padding", "unreached", "unlaunched"
"""Styles of squares; others are ``colour0``, ``colour1`` ..."""


@dataclass(frozen=True)
class Swatch:
    """A style of squares, and what it stands for."""

    style: str
    words: str


@dataclass(frozen=True)
class Span:
    """The part of an axis that is drawn: its name, first coordinate and length."""

    name: str
    first: int
    count: int

    def __contains__(self, at: object) -> bool:
        return isinstance(at, int) and self.first <= at < self.first + self.count


@dataclass(frozen=True, eq=False)
class SquaresFigure:
    """A plane of squares. ``keys_at`` holds the place of each square's key; ``dark`` squares have its other shade.

    ``marked`` is the square that was asked for; ``texts`` stand in squares.
    """

    title: str
    down: Span
    across: Span
    keys: tuple[Swatch, ...]
    keys_at: NDArray[np.int64]
    dark: NDArray[np.bool_]
    texts: tuple[tuple[int, int, str], ...] = ()
    marked: tuple[int, int] | None = None


@dataclass(frozen=True)
class BarFigure:
    """The steps of a reduction in a row, cut into slices; each has a ``label``."""

    title: str
    steps: Steps
    labels: tuple[str, ...]


@dataclass(frozen=True)
class TreeFigure:
    """A reduction's tree."""

    title: str
    levels: tuple[SumLevel, ...]


Figure: TypeAlias = "SquaresFigure | BarFigure | TreeFigure"


def window(name: str, first: int, end: int, at: int | None) -> Span:
    """Return the part of an axis that is drawn: all of it, or as much as there is room for, with ``at`` in it."""
    if end - first <= MOST_SQUARES:
        return Span(name, first, end - first)
    start = first if at is None else max(first, min(at - MOST_SQUARES // 2, end - MOST_SQUARES))
    return Span(name, start, MOST_SQUARES)


def tiles_figure(threads: ThreadMap, cell: Cell | None) -> SquaresFigure | None:
    """Return the tiles of a GEMM, a square each; those that the matrix does not fill are tails."""
    size = threads.matrix
    if size is None:
        return None
    at = threads.tile(cell) if cell is not None else None
    rows, columns, tile_m, tile_n = size
    down = window("tile of rows", 0, -(-rows // tile_m), at.number[0] if at else None)
    across = window("tile of columns", 0, -(-columns // tile_n), at.number[1] if at else None)
    is_tail = [
        np.arange(span.first + 1, span.first + span.count + 1) * tile > total
        for span, tile, total in ((down, tile_m, rows), (across, tile_n, columns))
    ]
    title = f"{rows} x {columns} sums in tiles of {tile_m} x {tile_n}, a block each"
    keys = (Swatch("colour0", "tile"), Swatch("colour1", "tail: partly outside"))
    tails = is_tail[0][:, None] | is_tail[1]
    marked = at.number if at else None
    return SquaresFigure(title, down, across, keys, tails.astype(np.int64), np.zeros(tails.shape, bool), marked=marked)


def steps_figure(threads: ThreadMap, cell: Cell) -> BarFigure | None:
    """Return the steps of a cell's reduction, and which slice takes which."""
    steps = threads.steps(cell)
    if steps is None:
        return None
    tail = f", the last of each {steps.run} {steps.tail}" if steps.tail and steps.runs > 1 else ""
    tail = f", the last {steps.tail}" if steps.tail and steps.runs == 1 else tail
    title = f"a sum in {steps.count} step{'s' * (steps.count > 1)} of {steps.size} terms{tail}"
    labels = tuple(f"slice {number}" for number in range(steps.slices)) if steps.slices > 1 else ()
    return BarFigure(title, steps, labels)


def figures_of(threads: ThreadMap | None, cell: Cell | None, corner: Cell) -> Sequence[Figure]:
    """Return the figures that any kernel has: its tiles, the steps of a cell (or of ``corner``), its tree."""
    if threads is None:
        return ()
    levels = tuple(threads.tree())
    tree = TreeFigure("how the cells of one row meet", levels) if levels else None
    found: tuple[Figure | None, ...] = (tiles_figure(threads, cell), steps_figure(threads, cell or corner), tree)
    return [figure for figure in found if figure is not None]
