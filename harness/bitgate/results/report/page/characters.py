"""A heat map of wrong cells in characters: at most eight lines, for terminals and the texts of issues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.results.record.view import ViewError
from bitgate.results.report.page.picture import caption_of
from bitgate.results.report.page.plane import planes_of, roles_of, split_code
from bitgate.results.report.page.wrong_cells import read_view

LINES = 7
COLUMNS = 64
MARKS = {"zero": "0", "nan": "N", "poison": "P", "other": "#"}
RIGHT = "."
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""The bits of a Braille pattern by the rows and columns of its dots."""
EMPTY = 0x2800


def heat_map(view: Mapping[str, Any], encoding: str | None = "utf-8") -> list[str]:
    """Return what is drawn, and the plane of the most places; nothing where a view has none that can be drawn.

    A cell is a letter where the plane is small enough: 0, N, P (poison), # (anything else). Otherwise it is a dot of a
    Braille pattern, or a letter stands for several cells if ``encoding`` has no such patterns.
    """
    try:
        cells = read_view(view)
    except ViewError:
        return []
    if cells is None or not cells.kinds.any():
        return []
    roles = roles_of(cells.axes, cells.shape)
    plane = planes_of(cells, roles, LINES, COLUMNS)[0]
    if max(plane.squares.step) > 1 and _has_dots(encoding):
        plane = planes_of(cells, roles, 4 * LINES, 2 * COLUMNS)[0]
        drawn = _dotted(plane.squares.codes > 0)
    else:
        drawn = ["".join(_letter(int(code)) for code in row) for row in plane.squares.codes]
    counts = ", ".join(f"{part} {count}" for part, count in cells.counts.items())
    return [f"{caption_of(cells, roles, plane)}: {counts}", *drawn]


def _letter(code: int) -> str:
    return MARKS[split_code(code)[0]] if code else RIGHT


def _dotted(wrong: NDArray[np.bool_]) -> list[str]:
    """Return rows of Braille patterns with a dot for each square that is wrong."""
    rows, columns = wrong.shape
    padded = np.pad(wrong, ((0, -rows % 4), (0, -columns % 2))).astype(np.int64)
    blocks = padded.reshape(padded.shape[0] // 4, 4, padded.shape[1] // 2, 2)
    patterns = np.einsum("rict,it->rc", blocks, DOTS) + EMPTY
    return ["".join(map(chr, row)) for row in patterns.tolist()]


def _has_dots(encoding: str | None) -> bool:
    try:
        return bool(chr(EMPTY).encode(encoding or "ascii"))
    except (UnicodeEncodeError, LookupError):
        return False
