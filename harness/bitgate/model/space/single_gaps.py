"""Gaps behind single axes of single tensors, where a draw has them behind the rows of all."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.model.gap import Gap
from bitgate.model.registry import case_id

SHARE = 0.5
"""Of the problems with gaps."""
MOST = 3
ELEMENTS = (8, 8, 8, 16, 24, 4, 2, 1)
"""Mostly such that vectors stay aligned."""


def with_single_gaps(problem: Any) -> Any:
    """The problem itself, or every other one with gaps behind a few axes instead. Which is the problem's own affair, so
    that no other draw depends on it."""
    if not getattr(problem, "gap", False) or not hasattr(problem, "gap_orders"):
        return problem
    rng = np.random.default_rng(zlib.crc32(case_id(problem).encode()))
    places = [(tensor, axis) for tensor, order in problem.gap_orders.items() for axis in order[1:]]
    if rng.random() >= SHARE or not places:
        return problem
    chosen = rng.permutation(len(places))[: rng.integers(1, MOST + 1)]
    gaps = tuple(Gap(tensor, axis, int(rng.choice(ELEMENTS))) for tensor, axis in (places[at] for at in chosen))
    return replace(problem, gap=False, gaps=gaps)
