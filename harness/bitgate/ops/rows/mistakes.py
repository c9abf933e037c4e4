"""Laws of operations on rows, and the parts of rows that kernels and their defects take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.model.law import Axis, Law, cut, on_exact, only, turned
from bitgate.model.sized import SizedProblem
from bitgate.ops.rows.rows import Floats

TILES = (256, 128, 64, 32, 16, 8, 4, 2)
"""Cells of a row that kernels take at once."""
LANES = (256, 64, 32)
"""Threads of a block, or lanes of a wave, which take the cells of a row in turn."""
BLOCK = 256


def lanes_of(cells: Floats, lanes: int, beyond: float) -> Floats:
    """Return rows as (r, steps, lanes): lanes take cells in turn; ``beyond`` fills the last step."""
    steps = -(-cells.shape[1] // lanes)
    whole = np.full((cells.shape[0], steps * lanes), beyond)
    whole[:, : cells.shape[1]] = cells
    return whole.reshape(cells.shape[0], steps, lanes)


def parts_of(cells: Floats, beyond: float) -> Iterator[tuple[str, Floats]]:
    """Yield ways to cut rows into parts that meet, in words, as (r, parts, cells of a part)."""
    for lanes in LANES:
        yield f"{lanes} threads", np.swapaxes(lanes_of(cells, lanes, beyond), 1, 2)
    for wave in (64, 32):
        by_wave = lanes_of(cells, BLOCK, beyond).reshape(cells.shape[0], -1, BLOCK // wave, wave)
        yield f"waves of {wave}", np.swapaxes(by_wave, 1, 2).reshape(cells.shape[0], BLOCK // wave, -1)


Parts = tuple[Floats, ...]
"""Arrays of the partial results of each thread, shape (r, waves, lanes)."""
Merge = Callable[[Parts, Parts], Parts]


def threads_of(cells: Floats, beyond: float) -> Iterator[tuple[str, Floats]]:
    """Yield ways in which threads take the cells of a row, those of a wave or a block: (r, steps, waves, lanes)."""
    for wave in (32, 64):
        for threads, words in ((wave, f"{wave} lanes"), (BLOCK, f"{BLOCK} threads in waves of {wave}")):
            by_thread = lanes_of(cells, threads, beyond)
            yield words, by_thread.reshape(*by_thread.shape[:2], threads // wave, wave)


def merged(parts: Parts, merge: Merge) -> Parts:
    """Return what each thread has once parts have met: lanes by shuffles over halves, then one wave after the other."""
    waves, lanes = parts[0].shape[1:]
    distance, lane = lanes // 2, np.arange(lanes)
    while distance:
        parts = merge(parts, tuple(part[:, :, lane ^ distance] for part in parts))
        distance //= 2
    if waves == 1:
        return parts
    whole = tuple(part[:, :1, :1] for part in parts)
    for wave in range(1, waves):
        whole = merge(whole, tuple(part[:, wave : wave + 1, :1] for part in parts))
    return tuple(np.broadcast_to(part, (part.shape[0], waves, lanes)) for part in whole)


def shorter(columns: int) -> Iterator[tuple[str, int]]:
    """Yield where rows end whose last cells are lost, with words for these."""
    yield "the last cell", columns - 1
    for tile in TILES:
        if 1 < columns % tile < columns:
            yield f"the last tile of {tile} cells, which is not whole,", columns - columns % tile


# ---- laws


def _resized(letter: str) -> Any:
    return lambda problem, length: replace(problem, sizes=replace(problem.sizes, **{letter: length}))


ROWS = Axis("r", "rows", {"x": 0, "y": 0, "lengths": 0, "mean": 0, "rstd": 0}, _resized("r"))
COLUMNS = Axis("c", "columns", {"x": 1, "y": 1, "gamma": 0, "beta": 0}, _resized("c"))


def is_alike(problem: SizedProblem) -> bool:
    """Return whether all columns are alike, and the operation's own data exact in any order of them."""
    return getattr(problem.sizes, "mask", "full") == "full" and problem.operation.numerics.fills(problem)[0].exact


def is_not_causal(problem: SizedProblem) -> bool:
    return getattr(problem.sizes, "mask", "full") != "causal"


LAWS: tuple[Law, ...] = (
    only(on_exact(turned(ROWS)), is_not_causal),
    only(on_exact(cut(ROWS)), is_not_causal),
    only(on_exact(turned(COLUMNS)), is_alike),
)
"""The laws of all operations on rows: their order, and that of the columns."""
