"""A rule for wrong cells in the last, partial tile of the GEMM's rows only. Its kind is other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.verify.diagnose.scene import Scene


def tail_of_rows(scene: Scene[Problem], rows: NDArray[np.bool_]) -> Finding | None:
    """Return the finding; ``rows`` says for each row of the GEMM, in its order, whether any cell of it is wrong."""
    if scene.tile is None:
        return None
    height = scene.tile[0]
    full = rows.size // height * height
    if full == 0 or full == rows.size or rows[:full].any() or scene.by_chance(1 - full / rows.size):
        return None
    text = f"only in the last, partial tile of the GEMM's rows ({rows.size - full} of {height} rows, M = {rows.size})"
    return Finding("other", Role.PLACE, 0.7, text, {"gemm_m": rows.size, "tile_m": height, "first_row": full})
