"""Views of wrong results, as the judge makes them and the record holds them."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from bitgate.model import DTYPES, parse_case_id
from bitgate.ops.convolution.rules.sub_gemms import owners
from bitgate.results.record.view import PARTS
from bitgate.verify.poison import poison_bits
from bitgate.verify.view import view_of

POISON = poison_bits(DTYPES["f32"])
BITS = {"nan": 0x7FC00000, "zero": 0x80000000, "poison": POISON, "other": 0x40490FDB}
ZERO, OTHER = PARTS.index("zero") + 1, PARTS.index("other") + 1

FOUNDING = "bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_d1x1_p1x1_q1x1"


def view(kinds: np.ndarray, axes: str, tile: tuple[int, int, int] | None = None) -> dict[str, Any]:
    """The view of a result as the record holds it; 0 is right, else the place in PARTS, from 1."""
    bits = np.full(kinds.shape, 0x3F800000, np.uint32)
    for number, part in enumerate(PARTS, 1):
        bits[kinds == number] = BITS[part]
    found: dict[str, Any] = json.loads(json.dumps(view_of(bits.view(np.float32), kinds > 0, POISON, axes, tile)))
    return found


def founding(missing: set[int]) -> np.ndarray:
    """What is wrong in dx if these sub-GEMMs never ran."""
    owner = owners(parse_case_id(FOUNDING)).owner
    return np.broadcast_to(np.where(np.isin(owner, list(missing)), ZERO, 0), (1, 4, 64, 28, 28)).copy()


def squares(svg: str, part: str) -> set[tuple[int, int]]:
    """The squares (row, column) that a picture paints as a part."""
    found: set[tuple[int, int]] = set()
    for path in re.findall(rf'<path class="{part} l\d" d="([^"]*)"', svg):
        for x, y, w, h in (map(int, one) for one in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-\d+z", path)):
            cells = {(row, column) for row in range(y, y + h) for column in range(x, x + w)}
            assert not cells & found
            found |= cells
    return found
