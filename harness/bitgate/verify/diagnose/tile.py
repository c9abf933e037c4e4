"""What the wrong cells have in common as rows and columns of the GEMM: a sub-GEMM, a tail tile. Kind: other."""

from __future__ import annotations

import numpy as np

from bitgate.operations.convolution import Pass
from bitgate.verify.diagnose.scene import Finding, Role, Scene
from bitgate.verify.diagnose.spelling import spell
from bitgate.verify.diagnose.sub_gemm_cells import owners


def sub_gemm_place(scene: Scene) -> Finding | None:
    """Only some sub-GEMMs are wrong, though computed."""
    if scene.problem.direction is not Pass.BWD_DATA:
        return None
    cells = owners(scene.problem)
    if len(cells.gemms) < 2:
        return None
    wrong = scene.wrong_spatial > 0
    if (wrong & (cells.owner < 0)).any():
        return None
    bad = {int(index) for index in np.unique(cells.owner[wrong])}
    seen = {int(index) for index in np.unique(cells.owner) if index >= 0}
    share = float(np.isin(cells.owner, list(bad)).mean())
    if bad == seen or scene.by_chance(share):
        return None
    noun = "sub-GEMM" if len(bad) == 1 else "sub-GEMMs"
    text = f"only in {noun} {spell(sorted(bad))} of {len(cells.gemms)}"
    return Finding("other", Role.PLACE, 0.75, text, {"sub_gemms": spell(sorted(bad))})


def tile_tail(scene: Scene) -> Finding | None:
    """Only the last, partial tile of GEMM M is wrong (fwd and bwd_data, one sub-GEMM)."""
    if scene.tile is None or scene.problem.direction is Pass.BWD_WEIGHT:
        return None
    height = scene.tile[0]
    rows = scene.wrong.any(axis=(0, 2))  # (n, spatial...): for fwd exactly the GEMM's rows
    if scene.problem.direction is Pass.BWD_DATA:
        if any(s > 1 for s in scene.problem.stride):
            return None
        # The slice of the only sub-GEMM may reach beyond the image; without pads it is the image.
        if any(scene.problem.left_pad) or any(scene.problem.right_pad):
            return None
    flat = rows.reshape(-1)
    full = flat.size // height * height
    if full == 0 or full == flat.size or flat[:full].any() or scene.by_chance(1 - full / flat.size):
        return None
    text = f"only in the last, partial tile of the GEMM's rows ({flat.size - full} of {height} rows, M = {flat.size})"
    return Finding("other", Role.PLACE, 0.7, text, {"gemm_m": flat.size, "tile_m": height, "first_row": full})
