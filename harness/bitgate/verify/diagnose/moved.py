"""Rows or columns of a GEMM that hold the results of others, a fixed number before or after.

A kernel that stores one part of its tile twice, or adds a wrong offset of a wave or a round, leaves these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.diagnose.scene import Scene

DISTANCES = (4, 8, 16, 32, 64, 128, 256)
"""Sides of fragments, waves, rounds and tiles."""
ENOUGH, DIFFERENT = 16, 6
"""Fewer wrong cells, or fewer different values in them, may agree by chance."""
MOST_OPEN = 0.25
"""The largest share of wrong cells whose row or column would have to lie outside the GEMM."""
MOST_NAMED = 2
FEW = 1024
"""Cells that must agree before all are compared."""

Matrices = Callable[[Array], Array]
"""Returns an output as (groups, rows, columns) of the GEMM."""


def moved(scene: Scene[Problem], matrices: Matrices, rows: str, columns: str) -> Finding | None:
    """Return the finding for wrong cells that hold the right results of other rows, or columns, of the GEMM.

    ``rows`` and ``columns`` are the words for these.
    """
    wrong = matrices(scene.wrong)
    ours, theirs = matrices(bits_of(scene.result)), matrices(bits_of(scene.reference))
    if scene.count < ENOUGH or np.unique(ours[wrong]).size < DIFFERENT:
        return None
    found = [(distance, rows) for distance in _distances(ours, theirs, wrong)]
    if not found and scene.channels is None:  # the examined channels are not neighbours
        turned = (np.swapaxes(one, 1, 2) for one in (ours, theirs, wrong))
        found = [(distance, columns) for distance in _distances(*turned)]
    if not found:
        return None
    words = [f"{abs(by)} {noun} {'before' if by > 0 else 'after'}" for by, noun in found[:MOST_NAMED]]
    text = f"the wrong cells hold the results of {format_list(words, 'or')}"
    evidence = {"along": found[0][1], "distance": found[0][0]}
    return Finding("shifted", Role.CAUSE, 0.972, text, evidence)


def _distances(ours: Array, theirs: Array, wrong: Array) -> Iterator[int]:
    """Yield by how many lines the results have moved along the middle axis, where all wrong cells agree."""
    places = np.nonzero(wrong)
    few = tuple(axis[:: max(1, axis.size // FEW)] for axis in places)
    for size in DISTANCES:
        for by in (size, -size):
            if _agrees(ours, theirs, few, by) and _agrees(ours, theirs, places, by):
                yield by


def _agrees(ours: Array, theirs: Array, places: tuple[Array, ...], by: int) -> bool:
    """Return whether these cells hold the results of as many lines before, but for those that have none."""
    group, line, place = places
    inside = (line >= by) & (line - by < ours.shape[1])
    group, line, place = group[inside], line[inside], place[inside]
    is_explained = inside.size - line.size <= MOST_OPEN * inside.size
    return is_explained and np.array_equal(ours[group, line, place], theirs[group, line - by, place])
