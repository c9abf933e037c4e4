"""Pictures of wrong cells as inline SVG: planes of the result, lines of folded axes, and a table of sub-GEMMs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from bitgate.results.record.view import PARTS, ViewError
from bitgate.results.report.page.plane import AxisRoles, Plane, Squares, coded, line_of, planes_of, roles_of, split_code
from bitgate.results.report.page.sub_gemms import SubGemmMap, sub_gemm_map
from bitgate.results.report.page.wrong_cells import WrongCells, read_view

PLANES = 6
"""Different planes that are drawn of one result."""
SIDES = (64, 32, 16)
"""Squares along a side, the finest first: coarser ones are tried where a picture has too many bytes."""
BYTES = 48 * 1024
LINE_HEIGHT = 14
MOST_LINES = 64
"""Lines of a tile grid, above which it would hide the picture."""
MOST_SUB_GEMMS = 64
NUMBERED = 4
"""The largest stride whose sub-GEMMs are numbered in the picture."""


@dataclass(frozen=True)
class DrawnPlane:
    """One drawing and the words below it."""

    svg: Markup
    caption: str


@dataclass(frozen=True)
class Picture:
    """All drawings of one result; ``notes`` say what is not in them."""

    planes: tuple[DrawnPlane, ...]
    lines: tuple[DrawnPlane, ...] = ()
    sub_gemms: DrawnPlane | None = None
    parts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cells: int = 0
    """The number of cells that were looked at."""

    @property
    def size(self) -> int:
        drawn = [*self.planes, *self.lines, *([self.sub_gemms] if self.sub_gemms else [])]
        return sum(len(one.svg) for one in drawn)


def picture_of(view: Mapping[str, Any], case: str) -> Picture | None:
    """Return the picture of a record's view; None where it has no mask, or none that can be drawn."""
    try:
        cells = read_view(view)
    except ViewError:
        return None
    if cells is None or not cells.kinds.any():
        return None
    drawn = _picture(cells, sub_gemm_map(case), SIDES[0])
    for side in SIDES[1:]:
        if drawn.size > BYTES:
            drawn = _picture(cells, sub_gemm_map(case), side)
    return drawn


def _picture(cells: WrongCells, gemms: SubGemmMap | None, side: int) -> Picture:
    roles = roles_of(cells.axes, cells.shape)
    gemms = gemms if gemms and _fits(gemms, cells) else None
    planes = planes_of(cells, roles, side)
    notes = [f"output {cells.output}"] * bool(cells.output)
    if cells.thinned:
        spans = zip(cells.axes, cells.box, cells.lengths, strict=True)
        cut = [f"{axis} {a} to {b - 1} of {n}" for axis, (a, b), n in spans if b - a < n]
        notes.append(f"the record holds the cells of {', '.join(cut)} only; counts are of all")
    if len(planes) > PLANES:
        notes.append(f"{len(planes) - PLANES} more planes look different again")
    return Picture(
        tuple(_drawn_plane(cells, roles, plane, gemms) for plane in planes[:PLANES]),
        tuple(_drawn_line(cells, axis) for axis in roles.folded if cells.shape[axis] > 1),
        _drawn_sub_gemms(cells, gemms) if gemms else None,
        tuple(f"{part} {count}" for part, count in cells.counts.items()),
        tuple(notes),
        cells.kinds.size,
    )


def _fits(gemms: SubGemmMap, cells: WrongCells) -> bool:
    """Return whether the result is dx as the case id states it, with few enough sub-GEMMs to be numbered."""
    is_input = cells.axes[:3] == ("g", "n", "c") and cells.lengths[3:] == tuple(len(axis.of) for axis in gemms.axes)
    return is_input and gemms.count <= MOST_SUB_GEMMS


def _drawn_plane(cells: WrongCells, roles: AxisRoles, plane: Plane, gemms: SubGemmMap | None) -> DrawnPlane:
    rows, columns = plane.squares.codes.shape
    caption = caption_of(cells, roles, plane)
    marks = [*_tiles(cells, roles, plane.squares), *_rows_of_tiles(cells, roles, plane)]
    if gemms and roles.rows is not None and len(gemms.axes) > 1 and plane.squares.step == (1, 1):
        marks += _classes(gemms, cells, roles)
    content = [*_paths(plane.squares.codes), *marks]
    return DrawnPlane(_svg(columns, rows, content, caption, height=LINE_HEIGHT * (roles.rows is None)), caption)


def caption_of(cells: WrongCells, roles: AxisRoles, plane: Plane) -> str:
    """Format what is drawn: ``g 0, n 0 to 3: h 28 down, w 28 across; c 64 folded``."""
    words = []
    for place, axis in enumerate(roles.apart):
        words.append(f"{cells.axes[axis]} {_spans(sorted({at[place] for at in plane.places}))}")
    if len(plane.places) > 1 and len(plane.places) < prod(
        len({at[p] for at in plane.places}) for p in range(len(words))
    ):
        words.append(f"{len(plane.places)} planes like this")
    down = f"{cells.axes[roles.rows]} {cells.shape[roles.rows]} down, " if roles.rows is not None else ""
    drawn = f"{down}{cells.axes[roles.columns]} {cells.shape[roles.columns]} across"
    if max(plane.squares.step) > 1:
        drawn += f", a square is {' x '.join(map(str, plane.squares.step[roles.rows is None :]))} cells"
    folded = [f"{cells.axes[axis]} {cells.shape[axis]}" for axis in roles.folded if cells.shape[axis] > 1]
    return (", ".join(words) + ": " if words else "") + drawn + (f"; {', '.join(folded)} folded" if folded else "")


def _spans(numbers: Sequence[int]) -> str:
    """Format sorted numbers: ``0 to 3, 7``; long lists are cut."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    words = [f"{a}" if a == b else f"{a} to {b}" for a, b in spans[:4]]
    return ", ".join(words) + (" ..." if len(spans) > 4 else "")


def _drawn_line(cells: WrongCells, axis: int) -> DrawnPlane:
    squares = line_of(cells, axis)
    caption = f"along {cells.axes[axis]}, {cells.shape[axis]}"
    marks: list[str] = []
    # The columns of the GEMM of forward and backward data are the channels of the result.
    if axis == 2 and cells.axes[1] == "n" and len(cells.tile) > 1 and cells.tile[1] > 0:
        marks = list(_lines(_multiples(cells.tile[1], cells.box[axis], squares.step[1]), 1, across=False))
        caption += f"; tile {cells.tile[1]}"
    svg = _svg(squares.codes.shape[1], 1, [*_paths(squares.codes), *marks], caption, height=LINE_HEIGHT)
    return DrawnPlane(svg, caption)


def _tiles(cells: WrongCells, roles: AxisRoles, squares: Squares) -> Iterator[str]:
    """Yield the tile grid where the plane is the GEMM's result itself."""
    named = (cells.axes[roles.rows] if roles.rows is not None else "", cells.axes[roles.columns])
    if named != ("m", "n") or len(cells.tile) < 2 or min(cells.tile[:2]) < 1 or roles.rows is None:
        return
    rows, columns = squares.codes.shape
    yield from _lines(_multiples(cells.tile[0], cells.box[roles.rows], squares.step[0]), columns, across=True)
    yield from _lines(_multiples(cells.tile[1], cells.box[roles.columns], squares.step[1]), rows, across=False)


def _rows_of_tiles(cells: WrongCells, roles: AxisRoles, plane: Plane) -> Iterator[str]:
    """Yield the borders of the tiles of a forward convolution's GEMM, whose rows are images and their pixels.

    Nothing is drawn where the images of a plane are cut in different places.
    """
    is_image = cells.axes[:3] == ("g", "n", "k") and roles.rows == 3 and len(cells.axes) == 5
    if not is_image or not cells.tile or cells.tile[0] < 1 or plane.squares.step != (1, 1):
        return
    pixels, width, tile = cells.lengths[3] * cells.lengths[4], cells.lengths[4], cells.tile[0]
    phases = {place[1] * pixels % tile for place in plane.places}
    if len(phases) > 1 or pixels > MOST_LINES * tile or cells.shape[3:] != cells.lengths[3:]:
        return
    starts = (divmod(at, width) for at in range(tile - phases.pop(), pixels, tile))
    path = "".join(f"M0 {y + 1}h{x}v-1h{width - x}" if x else f"M0 {y}h{width}" for y, x in starts)
    if path:
        yield f'<path class="tile" d="{path}"/>'


def _multiples(tile: int, box: tuple[int, int], step: int) -> list[float]:
    if box[1] - box[0] > MOST_LINES * tile:
        return []
    first = (box[0] // tile + 1) * tile
    return [round((at - box[0]) / step, 3) for at in range(first, box[1], tile)]


def _lines(places: Sequence[float], length: int, *, across: bool) -> Iterator[str]:
    if 0 < len(places) <= MOST_LINES:
        path = "".join(f"M0 {at:g}h{length}" if across else f"M{at:g} 0v{length}" for at in places)
        yield f'<path class="tile" d="{path}"/>'


def _classes(gemms: SubGemmMap, cells: WrongCells, roles: AxisRoles) -> Iterator[str]:
    """Yield the borders of the periods of the residue classes, and the numbers of the sub-GEMMs in one of them."""
    down, across = gemms.axes[-2:]
    (top, bottom), (left, right) = (cells.box[axis] for axis in (roles.rows or 0, roles.columns))
    for axis, (first, end), length, is_down in (
        (down, (top, bottom), right - left, True),
        (across, (left, right), bottom - top, False),
    ):
        if axis.stride > 1:
            starts = [float(at - first) for at in range(first + 1, end) if (at + axis.pad) % axis.stride == 0]
            yield from (line.replace("tile", "period") for line in _lines(starts, length, across=is_down))
    if len(gemms.axes) > 2 or max(down.stride, across.stride) > NUMBERED:
        return
    corner = [first + -(first + axis.pad) % axis.stride for axis, first in ((down, top), (across, left))]
    for y, x in product(range(corner[0], corner[0] + down.stride), range(corner[1], corner[1] + across.stride)):
        if y < bottom and x < right and down.of[y] >= 0 and across.of[x] >= 0:
            number = gemms.index((int(down.of[y]), int(across.of[x])))
            yield f'<text x="{x - left + 0.5}" y="{y - top + 0.76}">{number}</text>'


def _drawn_sub_gemms(cells: WrongCells, gemms: SubGemmMap) -> DrawnPlane:
    """Return the table of sub-GEMMs by their residue classes, each with the share of its cells that is wrong."""
    owner = gemms.owners(cells.box[3:]).ravel()
    owned = owner >= 0
    folded = prod(cells.shape[:3])
    by_part = [(cells.kinds == part).sum((0, 1, 2)).ravel() for part in range(1, len(PARTS) + 1)]
    counts = np.stack([_summed(owner[owned], of[owned], gemms.count) for of in by_part])
    sizes = _summed(owner[owned], np.full(owned.sum(), folded), gemms.count)
    columns = gemms.axes[-1].count
    grid = coded(counts, sizes).reshape(-1, columns)
    texts = []
    for number in range(gemms.count):
        share = 100 * counts[:, number].sum() / max(1, sizes[number])
        y, x = divmod(number, columns)
        title = f"sub-GEMM {number}: {share:.3g} % of its {sizes[number]} cells wrong"
        texts.append(f'<text x="{x + 0.5}" y="{y + 0.68}"><title>{title}</title>{number}</text>')
    wrong = [number for number in range(gemms.count) if counts[:, number].any()]
    right = [number for number in range(gemms.count) if sizes[number] and not counts[:, number].any()]
    moduli = " x ".join(str(axis.stride) for axis in gemms.axes)
    caption = f"{gemms.count} sub-GEMMs, by (x + pad) mod {moduli}: wrong {_spans(wrong)}"
    caption += f"; right {_spans(right)}" if right else ""
    edges = [
        *_lines(range(1, grid.shape[0]), columns, across=True),
        *_lines(range(1, columns), grid.shape[0], across=False),
    ]
    svg = _svg(
        columns,
        grid.shape[0],
        [*_paths(grid), *(e.replace("tile", "period") for e in edges), *texts],
        caption,
        scale=30,
    )
    return DrawnPlane(svg, caption)


def _summed(owner: NDArray[np.int64], values: NDArray[Any], count: int) -> NDArray[np.int64]:
    return np.bincount(owner, values, count).astype(np.int64)


def _paths(codes: NDArray[np.uint8]) -> Iterator[str]:
    """Yield a path for each code: rectangles of equal squares, joined along rows and then down columns."""
    for code in np.unique(codes):
        if code:
            part, level = split_code(int(code))
            path = "".join(f"M{x} {y}h{w}v{h}h-{w}z" for x, y, w, h in _rectangles(codes == code))
            yield f'<path class="{part} l{level}" d="{path}"/>'


def _rectangles(mask: NDArray[np.bool_]) -> Iterator[tuple[int, int, int, int]]:
    open_runs: dict[tuple[int, int], int] = {}
    for y in range(mask.shape[0] + 1):
        row = mask[y] if y < mask.shape[0] else np.zeros(mask.shape[1], bool)
        edges = np.flatnonzero(np.diff(np.concatenate(([False], row, [False])).astype(np.int8)))
        runs = {(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)}
        for run in [run for run in open_runs if run not in runs]:
            top = open_runs.pop(run)
            yield run[0], top, run[1] - run[0], y - top
        for run in runs:
            open_runs.setdefault(run, y)


def _svg(columns: int, rows: int, content: Iterable[str], label: str, *, height: int = 0, scale: int = 0) -> Markup:
    scale = scale or max(3, min(14, 336 // columns))
    size = f'width="{columns * scale}" height="{height or rows * scale}"'
    stretched = ' preserveAspectRatio="none"' if height else ""
    head = f'<svg class="cells" role="img" viewBox="0 0 {columns} {rows}" {size}{stretched}>'
    ground = f'<title>{escape(label)}</title><path class="right" d="M0 0h{columns}v{rows}h-{columns}z"/>'
    return Markup(head + ground + "".join(content) + "</svg>")
