"""The result is that of other pads: the right pad stands where the left one belongs, or one axis' pad on another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

from bitgate.model import ProblemError
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import bits_of
from bitgate.ops.convolution.problem import ConvProblem
from bitgate.ops.convolution.rules.terms import terms
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import cells_at_most, finish


def pad_side(scene: Scene[ConvProblem]) -> Finding | None:
    p = scene.problem
    if not scene.inputs:
        return None
    for left, text in _mistakes(p):
        # Only the left pad stands in the index relation: the output keeps its size, and every index moves.
        right = tuple(one + other - used for one, other, used in zip(p.left_pad, p.right_pad, left, strict=True))
        try:
            mistaken = replace(p, left_pad=left, right_pad=right)
        except ProblemError:
            continue  # more on one side than there is on both
        if _explains(scene, mistaken):
            evidence = {"left_pad": list(p.left_pad), "right_pad": list(p.right_pad), "used": list(left)}
            return Finding("pad_side", Role.CAUSE, 0.98, text, evidence, frozenset({"border", "shifted", "other"}))
    return None


def _mistakes(p: ConvProblem) -> Iterator[tuple[tuple[int, ...], str]]:
    """Left pads that a kernel may take instead, and how to say it."""
    if p.right_pad != p.left_pad:
        yield p.right_pad, f"the right pad {p.right_pad} is used where the left one {p.left_pad} belongs"
    for pads in sorted(set(permutations(p.left_pad)) - {p.left_pad, p.right_pad}):
        yield pads, f"left pads stand on the wrong axes: {pads} is used where {p.left_pad} belongs"


def _explains(scene: Scene[ConvProblem], other: ConvProblem) -> bool:
    """Every sampled cell, wrong or right, is the one of the other problem."""
    limit = cells_at_most(other.reduction)
    for cell in (*scene.sample(limit), *scene.sample(limit // 3, wrong=False)):
        true = scene.true_cell(cell)
        value = finish(other, scene.inputs, true, terms(other, scene.inputs, true).sum().reshape(1))
        if value[0] != bits_of(scene.result[cell].reshape(1))[0]:
            return False
    return True
