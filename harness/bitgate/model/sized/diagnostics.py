"""Diagnostics of a sized operation: the rule that follows from a form alone, a missing end of a sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitgate.model.diagnostics import Diagnostics
from bitgate.model.finding import Finding, Role, Rule
from bitgate.model.form import Array, Form

LONGEST = 64
"""Longest tail that is tried, in steps of an axis."""
WORK = 10**9
"""Multiply-adds that the rule may take."""


def lost_end(scene: Any) -> Finding | None:
    """Find a lost end: the wrong cells are what the form gives if the last steps along a summed axis are zero."""
    problem = scene.problem
    form: Form | None = problem.operation.numerics.form(problem)
    if form is None or not scene.inputs:
        return None
    operands = {role: np.asarray(scene.inputs[role], np.float64) for role in form.operands}
    first = form.operands[0]
    for name in form.summed:
        if name in form.axes[form.result]:
            continue
        axis = form.axes[first].index(name)
        length = operands[first].shape[axis]
        for missing in range(1, min(LONGEST, length - 1, WORK // max(1, problem.flops)) + 1):
            if _explains(scene, form, {**operands, first: _without(operands[first], axis, missing)}):
                text = f"the last {missing} of {length} steps of {name} are missing from the sums of the wrong cells"
                evidence = {"missing": missing, "of": length, "order": name}
                return Finding("k_tail", Role.CAUSE, 0.97, text, evidence, frozenset({"other", "zero"}))
    return None


def _without(array: Array, axis: int, missing: int) -> Array:
    cut: Array = array.copy()
    cut[(slice(None),) * axis + (slice(-missing, None),)] = 0
    return cut


def _explains(scene: Any, form: Form, operands: dict[str, Array]) -> bool:
    """Return whether all wrong cells are these sums, at least half of which are not zero.

    Zero is what any loss leaves of a sum of one term, and proves nothing.
    """
    sums = np.asarray(form.apply(operands))[scene.wrong]
    same = sums.astype(scene.result.dtype) == scene.result[scene.wrong]
    return bool(np.all(same)) and 2 * np.count_nonzero(sums) >= sums.size > 0


class SizedDiagnostics(Diagnostics):
    rules: tuple[Rule, ...] = (lost_end,)
