"""A rule on results that were added in another's place: a cell then holds two sums, and another one none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.rounding import rounded
from bitgate.verify.diagnose.scene import Scene, is_zero
from bitgate.verify.diagnose.sums import Index

SAMPLE = 48
FEWEST = 8
"""Cells with two sums that cannot agree with one of the distances by chance."""
FARTHEST = 256


def overlapping(scene: Scene[Problem]) -> Finding | None:
    """Find that the sums of cells were added to those of other cells, at one distance along an axis.

    Partial results that are added in memory do so where an offset of theirs is left out.
    """
    op = getattr(scene.problem, "op", None)
    if scene.channels is not None or not scene.exact or (op is not None and op.name != "pass"):
        return None
    places = [place for place in scene.sample(4 * SAMPLE) if scene.result[place] != 0][:SAMPLE]
    if len(places) < FEWEST:
        return None
    for axis, distance in _distances(scene):
        if all(_holds_both(scene, place, axis, distance) for place in places) and _everywhere(scene, axis, distance):
            letter = scene.letters[axis]
            source = f"{letter} {'+' if distance > 0 else '-'} {abs(distance)}"
            text = f"each cell holds the sum of the cell at {source} besides its own, and that cell lacks it"
            implied = frozenset({"zero", "receptive_field", "k_tail", "split_slice", "other"})
            evidence = {"axis": letter, "distance": distance}
            return Finding("shifted", Role.CAUSE, 0.985, text, evidence, implied, examined=len(places))
    return None


def _distances(scene: Scene[Problem]) -> Iterator[tuple[int, int]]:
    for axis, length in enumerate(scene.result.shape):
        for distance in range(1, min(length, FARTHEST + 1)):
            yield axis, distance
            yield axis, -distance


def _holds_both(scene: Scene[Problem], place: Index, axis: int, distance: int) -> bool:
    source = place[axis] + distance
    if not 0 <= source < scene.result.shape[axis]:
        return False
    other = (*place[:axis], source, *place[axis + 1 :])
    both = float(scene.reference[place]) + float(scene.reference[other])
    return bool(bits_of(rounded(np.array([both]), scene.dtype))[0] == bits_of(scene.result[place].reshape(1))[0])


def _everywhere(scene: Scene[Problem], axis: int, distance: int) -> bool:
    """Return whether each wrong cell holds both sums, or lacks its own, which another one holds."""
    due = scene.reference.astype(np.float64)
    moved = _moved(due, axis, distance)
    with np.errstate(all="ignore"):
        both = bits_of(rounded(due + moved, scene.dtype)) == bits_of(scene.result)
    gone = is_zero(scene.result) | (bits_of(scene.result) == scene.poison)
    taken = _moved(both & scene.wrong, axis, -distance).astype(bool)
    return bool((both | (gone & taken))[scene.wrong].all()) and bool((gone & taken & scene.wrong).any())


def _moved(cells: Array, axis: int, distance: int) -> Array:
    """Return what lies ``distance`` further along an axis; 0 beyond its end."""
    moved, length = np.zeros_like(cells), cells.shape[axis]
    to, source = slice(max(0, -distance), length - max(0, distance)), slice(max(0, distance), length + min(0, distance))
    np.moveaxis(moved, axis, 0)[to] = np.moveaxis(cells, axis, 0)[source]
    return moved
