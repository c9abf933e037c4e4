"""The data that a task is judged on: reals as spread as the task's own, and integers that show other mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[Any]

WHOLE, LAST = 4, (16, 4)
"""The largest integers of ``whole`` data, and the last cells of ``sparse`` ones: neighbours differ."""
SCALES = {"decimal": 1.0, "signed": 1.0, "small": 2.0**-9, "large": 2.0**6}
KEPT = 2
"""Rows and columns that ``few`` data keep of those that are summed."""
FULL_CELLS, FULL_ROWS = 4, 32
"""Cells of a row, and rows, of which ``sparse`` data have about so many that are not zero."""


def cells_of(drawn: Mapping[str, Any], shape: tuple[int, ...], fill: str, seed: int, exact: int = 0) -> Cells:
    """Return an input's data.

    Reals are as spread as the task's own, ``small`` and ``large`` ones scaled. Where the task draws none below 0,
    neither does this, but for ``signed`` ones. ``few`` ones are zero but for some rows and columns, the same of each
    input. ``whole`` ones are small integers, of which few ``sparse`` ones are not
    zero. Integers lie between the task's own.
    """
    rng = np.random.default_rng([seed, *drawn["role"].encode(), *fill.encode()])
    if "float" not in drawn["given"]:
        return rng.integers(int(drawn["low"]), int(drawn["high"]) + 1, shape)
    if fill == "exact":
        return rng.integers(-exact, exact + 1, shape).astype(np.float64)
    if fill in ("whole", "sparse"):
        cells = rng.integers(0 if drawn["low"] >= 0 else -WHOLE, WHOLE + 1, shape).astype(np.float64)
        return cells if fill == "whole" else _thinned(cells, LAST[int(drawn["role"][1:]) % 2], rng)
    if fill == "few":
        return _emptied(cells_of(drawn, shape, "decimal", seed), drawn.get("summed", ()), seed)
    if drawn["low"] >= 0 and fill != "signed":
        scale = 4 * SCALES[fill] if fill == "large" else SCALES[fill]
        return rng.uniform(drawn["low"] * scale, (drawn["high"] or 1.0) * scale, shape)
    reals: Cells = rng.standard_normal(shape) * drawn["spread"] * SCALES[fill]
    return reals


def _thinned(cells: Cells, last: int, rng: Any) -> Cells:
    """Return cells of which most are zero, whole rows too, and the last one is ``last``: a sum without it shows."""
    rows = cells.reshape(-1, *cells.shape[-1:])
    is_kept = rng.random(rows.shape) < min(0.5, FULL_CELLS / max(1, rows.shape[-1]))
    is_kept[..., -1:] |= rng.random(is_kept[..., -1:].shape) < 0.5
    if len(rows) > 1 and cells.ndim > 1:
        is_kept &= rng.random((len(rows), 1)) < min(0.5, FULL_ROWS / len(rows))
    thin = np.where(is_kept, rows, 0.0).reshape(cells.shape)
    thin.reshape(-1)[-1:] = last
    return thin


def _emptied(cells: Cells, summed: Sequence[tuple[int, str]], seed: int) -> Cells:
    """Return cells that are zero, but for some places along each axis that is summed."""
    for axis, name in summed:
        length = cells.shape[axis]
        kept = np.random.default_rng([seed, *name.encode(), length]).permutation(length)[:KEPT]
        is_kept = np.isin(np.arange(length), kept).reshape([-1 if at == axis else 1 for at in range(cells.ndim)])
        cells = np.where(is_kept, cells, 0.0)
    return cells
