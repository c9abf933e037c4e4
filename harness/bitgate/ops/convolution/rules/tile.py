"""What the wrong cells have in common as rows and columns of the GEMM: a sub-GEMM, a tail tile. Kind: other."""

from __future__ import annotations

import numpy as np

from bitgate.model.finding import Finding, Role
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.rules.owners import owners_of_several
from bitgate.ops.convolution.rules.positions import wrong_positions
from bitgate.verify.diagnose.places import format_indices, tail_of_rows
from bitgate.verify.diagnose.scene import Scene


def sub_gemm_place(scene: Scene[ConvProblem]) -> Finding | None:
    """Only some sub-GEMMs are wrong, though computed."""
    cells = owners_of_several(scene.problem)
    if cells is None:
        return None
    wrong = wrong_positions(scene) > 0
    if (wrong & (cells.owner < 0)).any():
        return None
    bad = {int(index) for index in np.unique(cells.owner[wrong])}
    seen = {int(index) for index in np.unique(cells.owner) if index >= 0}
    share = float(np.isin(cells.owner, list(bad)).mean())
    if bad == seen or scene.by_chance(share):
        return None
    noun = "sub-GEMM" if len(bad) == 1 else "sub-GEMMs"
    text = f"only in {noun} {format_indices(sorted(bad))} of {len(cells.gemms)}"
    return Finding("other", Role.PLACE, 0.75, text, {"sub_gemms": format_indices(sorted(bad))})


def tile_tail(scene: Scene[ConvProblem]) -> Finding | None:
    """Only the last, partial tile of GEMM M is wrong (fwd and bwd_data, one sub-GEMM)."""
    problem = scene.problem
    if problem.direction is Pass.BWD_WEIGHT:
        return None
    # The slice of the only sub-GEMM may reach beyond the image; without pads it is the image.
    if problem.direction is Pass.BWD_DATA and (problem.strided or any(problem.left_pad) or any(problem.right_pad)):
        return None
    rows = scene.wrong.any(axis=(0, 2))  # (n, spatial...): for fwd exactly the GEMM's rows
    return tail_of_rows(scene, rows.reshape(-1))
