"""A rule for right values in the wrong place: each cell holds its neighbour's."""

from __future__ import annotations

import numpy as np

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import bits_of
from bitgate.verify.diagnose.scene import Scene

DISTANCES = (1, -1, 2, -2)
CELLS = 64
LEAST = 8
"""Fewer cells than this may agree by chance."""


def shifted(scene: Scene[Problem]) -> Finding | None:
    left = bits_of(scene.wrong_result)
    if not (left != left[0]).any():
        return None  # zeros, or poison: their origin is unknown
    sample = list(scene.sample(CELLS))
    for axis in scene.neighbours:
        if axis == scene.channel_axis and scene.channels is not None:
            continue  # the channels at hand are not neighbours
        for distance in DISTANCES:
            if _agrees(scene, sample, axis, distance) and _whole(scene, axis, distance):
                letter = scene.letters[axis]
                source = f"{letter} {'-' if distance > 0 else '+'} {abs(distance)}"
                text = f"the values are shifted by {abs(distance)} along {letter}: cell {letter} holds that of {source}"
                return Finding("shifted", Role.CAUSE, 0.9, text, {"axis": letter, "distance": distance})
    return None


def _agrees(scene: Scene[Problem], sample: list[tuple[int, ...]], axis: int, distance: int) -> bool:
    tried = 0
    ours, theirs = bits_of(scene.result), bits_of(scene.reference)
    for cell in sample:
        source = cell[axis] - distance
        if not 0 <= source < scene.result.shape[axis]:
            continue
        tried += 1
        neighbour = (*cell[:axis], source, *cell[axis + 1 :])
        if ours[cell] != theirs[neighbour]:
            return False
    return tried > 0


def _whole(scene: Scene[Problem], axis: int, distance: int) -> bool:
    """Return whether all wrong cells that have such a neighbour hold its value, and the values are not all alike."""
    length = scene.result.shape[axis]
    to = _slice(axis, slice(max(0, distance), length + min(0, distance)))
    source = _slice(axis, slice(max(0, -distance), length + min(0, -distance)))
    wrong = scene.wrong[to]
    ours, theirs = bits_of(scene.result)[to][wrong], bits_of(scene.reference)[source][wrong]
    return ours.size >= LEAST and np.array_equal(ours, theirs) and bool((ours != ours[0]).any())


def _slice(axis: int, part: slice) -> tuple[slice, ...]:
    return (*([slice(None)] * axis), part)
