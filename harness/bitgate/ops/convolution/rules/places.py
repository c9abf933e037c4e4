"""Rules that ask where the wrong cells are: groups, images, channels, tiles, or the border of the image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.rules.sub_gemms import wrong_positions
from bitgate.verify.diagnose.moved import moved
from bitgate.verify.diagnose.places import format_list, slice_finding, tail_along, tail_of_rows
from bitgate.verify.diagnose.scene import Scene, along
from bitgate.verify.diagnose.values import repeated_rows


def wrong_group(scene: Scene[ConvProblem]) -> Finding | None:
    """Find that only some groups are wrong, or hold each other's results: a wrong group stride or index."""
    if scene.problem.g < 2:
        return None
    return slice_finding(scene, axis=0, kind="wrong_group", noun="group", along="g")


def wrong_image(scene: Scene[ConvProblem]) -> Finding | None:
    """Find that only some images are wrong: a wrong batch offset, or a split over images lost a part (#10627)."""
    if scene.problem.n < 2 or scene.problem.direction is Pass.BWD_WEIGHT:
        return None
    return slice_finding(scene, axis=1, kind="wrong_image", noun="image", along="n")


def channel_tail(scene: Scene[ConvProblem]) -> Finding | None:
    """Find that only the last channels are wrong: of dw either kind of channel."""
    axes = (2, 1) if scene.problem.direction is Pass.BWD_WEIGHT else (2,)
    return next((finding for axis in axes if (finding := tail_along(scene, axis, along="kc"))), None)


def tile_tail(scene: Scene[ConvProblem]) -> Finding | None:
    """Find a tail: only the last, partial tile of GEMM M is wrong (fwd and bwd_data, one sub-GEMM)."""
    problem = scene.problem
    if problem.direction is Pass.BWD_WEIGHT:
        return None
    # The slice of the only sub-GEMM may reach beyond the image; without pads it is the image.
    if problem.direction is Pass.BWD_DATA and (problem.strided or any(problem.left_pad) or any(problem.right_pad)):
        return None
    rows = scene.wrong.any(axis=(0, 2))  # (n, spatial...): for fwd exactly the GEMM's rows
    return tail_of_rows(scene, rows.reshape(-1))


def repeated(scene: Scene[ConvProblem]) -> Finding | None:
    """Find that the same rows of every wave or tile of the GEMM are wrong (fwd; bwd_data with one sub-GEMM; dw)."""
    problem = scene.problem
    if problem.direction is Pass.BWD_WEIGHT:
        return repeated_rows(scene, scene.wrong_along(1), f"the GEMM's {problem.k} rows k")
    if problem.direction is Pass.BWD_DATA and problem.strided:
        return None
    rows = scene.wrong.any(axis=(0, 2)).reshape(-1)
    return repeated_rows(scene, rows, f"the GEMM's {rows.size} rows (images and positions)")


def moved_rows(scene: Scene[ConvProblem]) -> Finding | None:
    """Find results of other rows or columns of the GEMM (fwd; bwd_data with one sub-GEMM; dw)."""
    problem = scene.problem
    if problem.direction is Pass.BWD_WEIGHT:
        return moved(scene, _by_k, "rows k of the GEMM", "columns (taps and c) of the GEMM")
    if problem.direction is Pass.BWD_DATA and problem.strided:
        return None
    return moved(scene, _by_position, "rows (images and positions) of the GEMM", f"channels {scene.letters[2]}")


def _by_position(cells: Array) -> Array:
    """Return y or dx as (groups, images and positions, channels)."""
    last = np.moveaxis(cells, 2, -1)
    return last.reshape(cells.shape[0], -1, cells.shape[2])


def _by_k(cells: Array) -> Array:
    """Return dw as (groups, k, taps and c)."""
    last = np.moveaxis(cells, 2, -1)
    return last.reshape(*cells.shape[:2], -1)


MOST = 0.9
"""The largest share of border cells at which it means something that all wrong cells are among them."""


def border(scene: Scene[ConvProblem]) -> Finding | None:
    """Find that only cells whose window reaches over the border are wrong: a padding or bounds check."""
    low, high = edges(scene.problem)
    reach = [a | b for a, b in zip(low, high, strict=True)]
    grid = _any(reach)
    if grid.mean() > MOST or not grid.any():
        return None
    wrong = wrong_positions(scene) > 0
    if (wrong & ~grid).any() or scene.by_chance(float(grid.mean()), int(np.count_nonzero(wrong))):
        return None
    names = _names(scene)
    sides = _sides(wrong, low, high, names)
    axes = [name for name, flags in zip(names, reach, strict=True) if flags.any()]
    evidence = {"axes": axes, "sides": sides, "border_share": round(float(grid.mean()), 4)}
    if len(sides) == 1 and len(sides) < 2 * len(axes):
        text = f"only where the window reaches over the {sides[0]} border"
        return Finding("pad_side", Role.PLACE, 0.85, text, evidence, frozenset({"border"}))
    return Finding(
        "border", Role.PLACE, 0.8, f"only where the window reaches over the border ({format_list(axes)})", evidence
    )


def edges(problem: ConvProblem) -> tuple[list[NDArray[np.bool_]], list[NDArray[np.bool_]]]:
    """Return for each spatial axis of the result where a tap falls below the first cell, and above the last one."""
    both = [_EDGES[problem.direction](problem, axis) for axis in range(problem.ndim)]
    return [low for low, _ in both], [high for _, high in both]


def _fwd(problem: ConvProblem, axis: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    first = np.arange(problem.output[axis]) * problem.stride[axis] - problem.left_pad[axis]
    last = first + (problem.filter[axis] - 1) * problem.dilation[axis]
    return first < 0, last >= problem.input[axis]


def _bwd_data(problem: ConvProblem, axis: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    taps = np.arange(problem.filter[axis]) * problem.dilation[axis]
    at = np.arange(problem.input[axis])[:, None] + problem.left_pad[axis] - taps
    o = at // problem.stride[axis]
    mine = at % problem.stride[axis] == 0
    return (mine & (o < 0)).any(axis=1), (mine & (o >= problem.output[axis])).any(axis=1)


def _bwd_weight(problem: ConvProblem, axis: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    first = np.arange(problem.filter[axis]) * problem.dilation[axis] - problem.left_pad[axis]
    last = first + (problem.output[axis] - 1) * problem.stride[axis]
    return first < 0, last >= problem.input[axis]


_EDGES = {Pass.FWD: _fwd, Pass.BWD_DATA: _bwd_data, Pass.BWD_WEIGHT: _bwd_weight}


def _names(scene: Scene[ConvProblem]) -> str:
    return scene.letters[3:]


def _any(flags: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Return the cells of the grid for which any axis is flagged."""
    grid = np.zeros([f.size for f in flags], bool)
    for axis, mine in enumerate(flags):
        grid = grid | along(mine, axis, grid.ndim)
    return grid


def _sides(
    wrong: NDArray[np.bool_], low: list[NDArray[np.bool_]], high: list[NDArray[np.bool_]], names: str
) -> list[str]:
    """Return the fewest sides that cover every wrong cell: one if one does, else all that have wrong cells."""
    sides: list[str] = []
    for axis, name in enumerate(names):
        for word, flags in (("low", low[axis]), ("high", high[axis])):
            reach = along(flags, axis, wrong.ndim)
            if (wrong & reach).any():
                if not (wrong & ~reach).any():
                    return [f"{word} {name}"]
                sides.append(f"{word} {name}")
    return sides
