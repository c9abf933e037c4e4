"""Forms of a problem that the draws of a space leave out: gaps after single axes, operations of operands."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.model.elementwise import ELEMENTWISE, OPERAND_ELEMENTWISE
from bitgate.model.gap import Gap
from bitgate.model.registry import case_id

SHARE = 0.5
"""Share of the problems with gaps."""
MOST = 3
ELEMENTS = (8, 8, 8, 16, 24, 4, 2, 1)
"""Sizes of gaps, mostly such that vectors stay aligned."""


def with_single_gaps(problem: Any) -> Any:
    """Return the problem itself, or, for every other one, with gaps after a few axes instead.

    The choice depends on the problem alone, so that no other draw depends on it.
    """
    if not getattr(problem, "gap", False) or not hasattr(problem, "gap_orders"):
        return problem
    rng = np.random.default_rng(zlib.crc32(case_id(problem).encode()))
    places = [(tensor, axis) for tensor, order in problem.gap_orders.items() for axis in order[1:]]
    if rng.random() >= SHARE or not places:
        return problem
    chosen = rng.permutation(len(places))[: rng.integers(1, MOST + 1)]
    gaps = tuple(Gap(tensor, axis, int(rng.choice(ELEMENTS))) for tensor, axis in (places[at] for at in chosen))
    return replace(problem, gap=False, gaps=gaps)


OPERAND_SHARE = 0.05
"""Share of problems one of whose operands has a separate operation."""


def with_operand_operation(problem: Any, rng: np.random.Generator) -> Any:
    """Return the problem, sometimes with an operation on one of its ``operands``; dy passes as it is."""
    operand = str(rng.choice(problem.operands))
    if rng.random() < OPERAND_SHARE and operand != "out":
        changes: dict[str, Any] = {f"{operand}_op": ELEMENTWISE[str(rng.choice(OPERAND_ELEMENTWISE))]}
        return replace(problem, **changes)
    return problem
