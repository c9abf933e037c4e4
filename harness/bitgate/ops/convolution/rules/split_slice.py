"""One slice of a split reduction is missing from the sums: a block that did not run, or whose addition was lost."""

from __future__ import annotations

import numpy as np

from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import bits_of
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.rules.terms import gemm_terms, terms
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import Floats, cells_at_most, finish


def split_slice(scene: Scene[ConvProblem]) -> Finding | None:
    """For kernels that cut taps times K, in steps of Tile K within a tap, into slices of equally many steps."""
    problem = scene.problem
    if problem.split_k < 2 or scene.tile is None or not scene.inputs or problem.direction is not Pass.BWD_DATA:
        return None
    missing = set(range(problem.split_k))
    for cell in scene.sample(cells_at_most(problem.reduction)):
        missing &= _missing_slices(scene, cell, scene.tile[2])
        if not missing:
            return None
    numbers = [number + 1 for number in sorted(missing)]
    which = " or ".join(f"slice {number}" for number in numbers)
    text = f"{which} of {problem.split_k} of the split reduction is missing from the sums of the wrong cells"
    evidence = {"slices": numbers[:16], "split_k": problem.split_k, "tile_k": scene.tile[2]}
    return Finding("split_slice", Role.CAUSE, 0.98, text, evidence, frozenset({"k_tail", "other", "zero"}))


def _missing_slices(scene: Scene[ConvProblem], cell: tuple[int, ...], tile_k: int) -> set[int]:
    """The slices without any one of which the sum is what the cell holds, counted from 0."""
    problem, true = scene.problem, scene.true_cell(cell)
    sums = _slice_sums(
        gemm_terms(problem, terms(problem, scene.inputs, true), true), problem.k, tile_k, problem.split_k
    )
    bits = finish(problem, scene.inputs, true, sums.sum() - sums)
    found = bits_of(scene.result[cell].reshape(1))[0]
    return {int(number) for number in np.flatnonzero((bits == found) & (sums != 0))}


def _slice_sums(products: Floats, k: int, tile_k: int, slices: int) -> Floats:
    """The sum of each slice: ``products`` are those of each tap's K channels, tap after tap; a cell may have none."""
    steps = [chunk.sum() for tap in products.reshape(-1, k) for chunk in np.split(tap, range(tile_k, k, tile_k))]
    length = -(-len(steps) // slices)
    return np.array([sum(steps[length * number : length * (number + 1)], 0.0) for number in range(slices)])
