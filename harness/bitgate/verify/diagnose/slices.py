"""Rules for slices along one axis (groups, images): only some are wrong, or they hold each other's results."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import bits_of
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.words import spell

SLICES = 64
"""The most slices along the axis that are tried for a permutation: the work grows with the square."""
SPELLED = 4
FEW = 256
"""Cells that two slices must have in common before all are compared."""


def slice_finding(scene: Scene[Problem], axis: int, kind: str, noun: str, along: str = "") -> Finding | None:
    """Return the finding for slices along ``axis``.

    ``along`` is the axis' letter, if naming the slices says where along it the wrong cells are.
    """
    moved = permuted(scene, axis)
    if moved:
        pairs = list(moved.items())
        text = ", ".join(f"{noun} {ours} holds the result of {noun} {theirs}" for ours, theirs in pairs[:SPELLED])
        if len(pairs) > SPELLED:
            text += f" and {len(pairs) - SPELLED} more likewise"
        return Finding(kind, Role.CAUSE, 0.95, text, {"holds": {str(ours): theirs for ours, theirs in pairs[:32]}})
    length = scene.result.shape[axis]
    wrong = [int(index) for index in scene.wrong_along(axis).nonzero()[0]]
    if len(wrong) == length or scene.by_chance(len(wrong) / length):
        return None
    text = f"only in {noun if len(wrong) == 1 else noun + 's'} {spell(wrong)} of {length}"
    return Finding(kind, Role.PLACE, 0.9, text, {"wrong": spell(wrong), "of": length}, along=along)


def permuted(scene: Scene[Problem], axis: int) -> dict[int, int]:
    """Return {slice of the result: slice of the reference that it equals} for every wrong slice, or {} if one has no
    twin.

    A constant slice has no identity (all zero equals all zero) and counts as having no twin.
    """
    length = scene.result.shape[axis]
    if not 2 <= length <= SLICES:
        return {}
    result = np.moveaxis(bits_of(scene.result), axis, 0)
    reference = np.moveaxis(bits_of(scene.reference), axis, 0)
    moved: dict[int, int] = {}
    few = _few(result[0].shape)
    for ours in scene.wrong_along(axis).nonzero()[0]:
        cells = result[ours]
        if (cells == cells[(0,) * cells.ndim]).all():
            return {}
        alike = [t for t in range(length) if t != ours and np.array_equal(cells[few], reference[t][few])]
        twin = next((t for t in alike if np.array_equal(cells, reference[t])), None)
        if twin is None:
            return {}
        moved[int(ours)] = twin
    return moved


def _few(shape: tuple[int, ...]) -> tuple[NDArray[np.intp], ...]:
    """Return places spread over a slice."""
    places = np.linspace(0, prod(shape) - 1, min(FEW, prod(shape))).astype(np.intp)
    return tuple(np.asarray(axis) for axis in np.unravel_index(places, shape))
