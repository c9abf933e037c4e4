"""A rule for sums that lack the end of the reduction: channels that do not fill a vector or a K block (#12089)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import Floats, Index, S, cells_at_most, finish

LONGEST = 256
"""The longest tail that is tried, in terms of the reduction."""


@dataclass(frozen=True)
class SumOrder:
    """An order in which a kernel may run over the products of a cell.

    ``words`` say what the ``length`` steps are; ``sequence`` returns the steps' sums for a cell of the result.
    """

    order: str
    words: str
    length: int
    sequence: Callable[[Index], Floats]


def lost_end(scene: Scene[S], reductions: Sequence[SumOrder]) -> Finding | None:
    """Return the finding for a lost end of one of ``reductions``, the simpler one first."""
    if not scene.inputs:
        return None
    limit = cells_at_most(max(reduction.length for reduction in reductions))
    for reduction in reductions:
        missing = _common_tail(scene, reduction, limit)
        if missing:
            evidence = {"missing": missing, "of": reduction.length, "order": reduction.order}
            text = _sentence(missing, reduction.words, reduction.length)
            return Finding("k_tail", Role.CAUSE, 0.97, text, evidence, frozenset({"other", "zero"}))
    return None


def _sentence(missing: int, what: str, length: int) -> str:
    vector = next((v for v in (64, 32, 16, 8, 4, 2) if v < length and length % v == missing), None)
    why = f" ({length} mod {vector} = {missing})" if vector else ""
    return f"the last {missing} of {length} {what} are missing from the sums of the wrong cells{why}"


def _common_tail(scene: Scene[S], reduction: SumOrder, limit: int) -> int | None:
    """Return the one tail length that explains every sampled wrong cell, None if there is none.

    A cell that is zero without its tail agrees, and shows nothing: half of the cells must have something left.
    """
    agree = np.ones(LONGEST, np.bool_)
    telling = np.zeros(LONGEST, np.int64)
    seen = 0
    for cell in scene.sample(limit):
        matches, left = _tails(scene, cell, reduction)
        size = min(agree.size, matches.size)  # the cells' sums may be of different lengths
        agree = agree[:size] & matches[:size]
        telling = telling[:size] + left[:size]
        seen += 1
        if not agree.any():
            return None
    agree &= 2 * telling >= seen
    return int(agree.argmax()) + 1 if seen and agree.any() else None


def _tails(scene: Scene[S], cell: Index, reduction: SumOrder) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for r = 1, 2, ... whether the cell is the sum without the last r terms, and whether a non-zero one is
    left."""
    true = scene.true_cell(cell)
    sequence = reduction.sequence(true)
    longest = min(LONGEST, sequence.size - 1)
    whole = sequence.sum()
    without = whole - np.cumsum(sequence[::-1])[:longest]
    bits = finish(scene.problem, scene.inputs, true, without)
    found: Array = bits_of(scene.result[cell].reshape(1))
    left = np.count_nonzero(sequence) - np.cumsum(sequence[::-1] != 0)[:longest]
    return np.asarray(bits == found[0]), np.asarray(left > 0)
