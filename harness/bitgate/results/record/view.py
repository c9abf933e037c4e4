"""Views of wrong cells: small enough for a line of the record, and read back from it.

Standard library only, so that a picture can be drawn wherever a record can be read.

    {"axes": ["g", "n", "c", "h", "w"], "lengths": [1, 4, 64, 28, 28], "tile": [64, 64, 32],
     "parts": {"zero": 178752}, "mask": {"split": 3, "zero": {"rows": [[0, 28, 1, 2, 25]], "at": [0, 256]}},
     "box": [[0, 1], ...], "thinned": "..."}

``parts`` counts the wrong cells of each kind; ``mask`` says where they are. The first ``split`` axes are walked in
row-major order; the others, flattened, are a row. ``rows`` lists each different row once, as lengths of runs that are
alternately not wrong and wrong, beginning with not wrong. ``at`` says which row is where, as pairs (row, repetitions).
Wrong results repeat from image to image and channel to channel, so that one picture of a plane stands for all.
``output`` is the role of the output that is shown, where an operation has several. ``box`` and ``thinned`` exist only
if not all cells would fit: then the mask covers the cells in the box.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

PARTS = ("nan", "zero", "poison", "other")
"""The kinds of content of a wrong cell: a NaN, a zero, the fill from before the launch, anything else."""

LIMIT = 64 * 1024
"""Largest size in bytes of a view in the record."""


class ViewError(ValueError):
    """A view that cannot be read; the message says what is wrong in it."""


def size(view: Mapping[str, Any]) -> int:
    """Return the bytes of a view in a line of the record."""
    return len(json.dumps(view, separators=(",", ":")))


def box_of(view: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return (first, end) along each axis of the cells that the mask covers."""
    return [(int(first), int(end)) for first, end in view.get("box") or [[0, length] for length in view["lengths"]]]


def wrong_cells(view: Mapping[str, Any], part: str) -> Iterator[tuple[int, ...]]:
    """Yield the coordinates of the wrong cells of a part, in row-major order. ViewError if ``view`` is no view."""
    try:
        box = box_of(view)
        split, code = int(view["mask"]["split"]), view["mask"].get(part)
        if code is None:
            return
        outer, inner = (list(product(*(range(*span) for span in spans))) for spans in (box[:split], box[split:]))
        rows = [_wrong(row, len(inner)) for row in code["rows"]]
        places = iter(outer)
        for number, count in zip(code["at"][::2], code["at"][1::2], strict=True):
            for _ in range(count):
                place = next(places)
                for cell in rows[number]:
                    yield place + inner[cell]
        if next(places, None) is not None:
            raise ViewError(f"{part}: the rows do not fill the {prod(end - first for first, end in box)} cells")
    except (KeyError, TypeError, AttributeError, IndexError, StopIteration, ValueError) as error:
        if isinstance(error, ViewError):
            raise
        raise ViewError(f"not a view: {type(error).__name__}: {error}") from None


def _wrong(runs: list[int], length: int) -> list[int]:
    """Return the places of a row that are wrong."""
    cells: list[int] = []
    end = 0
    for number, run in enumerate(runs):
        if run < 0 or end + run > length:
            raise ViewError(f"a run of {run} does not fit into a row of {length}")
        if number % 2:
            cells += range(end, end + run)
        end += run
    return cells
