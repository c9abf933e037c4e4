"""The result is that of other pads: the right pad stands where the left one belongs."""

from __future__ import annotations

from dataclasses import replace

from bitgate.problem import ConvProblem
from bitgate.verify.compare import bits_of
from bitgate.verify.diagnose.scene import Finding, Role, Scene
from bitgate.verify.diagnose.terms import finish, terms

CELLS = 48


def pad_side(scene: Scene) -> Finding | None:
    p = scene.problem
    if not scene.inputs or p.left_pad == p.right_pad:
        return None
    # Only the left pad stands in the index relation, so swapping keeps the output's size and moves every index.
    if not _explains(scene, replace(p, left_pad=p.right_pad, right_pad=p.left_pad)):
        return None
    evidence = {"left_pad": list(p.left_pad), "right_pad": list(p.right_pad)}
    text = f"the right pad {p.right_pad} is used where the left one {p.left_pad} belongs"
    return Finding("pad_side", Role.CAUSE, 0.98, text, evidence, frozenset({"border", "shifted", "other"}))


def _explains(scene: Scene, other: ConvProblem) -> bool:
    """Every sampled cell, wrong or right, is the one of the other problem."""
    for cell in (*scene.sample(CELLS), *scene.sample(CELLS // 3, wrong=False)):
        true = scene.true_cell(cell)
        value = finish(other, scene.inputs, true, terms(other, scene.inputs, true).sum().reshape(1))
        if value[0] != bits_of(scene.result[cell].reshape(1))[0]:
            return False
    return True
