"""Forms of a problem that the draws of a space leave out: gaps of single tensors, operations of operands."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.model.elementwise import ELEMENTWISE, OPERAND_ELEMENTWISE
from bitgate.model.gap import ELEMENT, Gap
from bitgate.model.space.details import Cut

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
    rng = np.random.default_rng(zlib.crc32(problem.operation.spell(problem).encode()))
    places = [(tensor, axis) for tensor, order in problem.gap_orders.items() for axis in order[1:]]
    if rng.random() >= SHARE or not places:
        return problem
    chosen = rng.permutation(len(places))[: rng.integers(1, MOST + 1)]
    gaps = tuple(Gap(tensor, axis, int(rng.choice(ELEMENTS))) for tensor, axis in (places[at] for at in chosen))
    return replace(problem, gap=False, gaps=gaps)


APART_SHARE = 0.03
"""Share of the problems whose gaps are given up for one between the elements of a tensor."""
APART = (1, 1, 2, 7)
"""Unused elements after each."""


def with_elements_apart(problem: Any) -> Any:
    """Return the problem itself, or now and then with the elements of one tensor apart, and no other gaps.

    The choice depends on the problem alone, so that no other draw depends on it.
    """
    if not hasattr(problem, "gap_orders"):
        return problem
    rng = np.random.default_rng([zlib.crc32(problem.operation.spell(problem).encode()), 1])
    tensors = [tensor for tensor, order in problem.gap_orders.items() if order and ELEMENT not in order]
    if rng.random() >= APART_SHARE or not tensors:
        return problem
    return replace(problem, gap=False, gaps=(Gap(str(rng.choice(tensors)), ELEMENT, int(rng.choice(APART))),))


OPERAND_SHARE = 0.05
"""Share of problems one of whose operands has a separate operation."""


def with_operand_operation(problem: Any, rng: np.random.Generator) -> Any:
    """Return the problem, sometimes with an operation on one of its ``operands``; dy passes as it is."""
    operand = str(rng.choice(problem.operands))
    if rng.random() < OPERAND_SHARE and operand != "out":
        changes: dict[str, Any] = {f"{operand}_op": ELEMENTWISE[str(rng.choice(OPERAND_ELEMENTWISE))]}
        return replace(problem, **changes)
    return problem


def near_tile(tile: int, step: int, rng: np.random.Generator) -> int:
    """Return a length around a few tiles: with no rest, a small one, or any; in whole steps, mostly."""
    rest = int(rng.choice((0, 0, 1, 2, 3, 4, max(0, tile - 1), int(rng.integers(tile)))))
    length = int(rng.choice((0, 0, 0, 1, 1, 2, 3, 4, 5))) * tile + rest or tile
    return -(-length // step) * step if rng.random() < 0.9 else length


GAP_SHARE = 0.4
FITTED_SHARE = 0.5
"""Shares of the problems that get gaps of single tensors, and of lengths that are drawn anew around tiles."""


def with_gaps_of_tensors(problem: Any, rng: np.random.Generator) -> Any:
    """Return the problem, sometimes with gaps in one tensor or a few, and no others."""
    if not hasattr(problem, "gap_orders") or rng.random() >= GAP_SHARE:
        return problem
    bare = replace(problem, gap=False, gaps=())
    places = [(tensor, axis) for tensor, order in bare.gap_orders.items() for axis in order[1:]]
    if not places:
        return problem
    count = int(rng.choice((1, 1, 1, 2, 3)))
    chosen = rng.permutation(len(places))[:count]
    gaps = tuple(Gap(tensor, axis, int(rng.choice(ELEMENTS))) for tensor, axis in (places[at] for at in chosen))
    return replace(bare, gaps=gaps)


LONG = (100, 129, 256, 257, 600, 1000, 1025, 2000, 4097)
LONG_SHARE = 0.06
"""Lengths beyond those of draws, and the share of each length that no tile cuts that has one."""


def fitted_lengths(problem: Any, cut: Cut, places: Mapping[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Return new values of some lengths, around the instance's tiles, or a long one where no tile cuts it.

    ``places``: where ``cut.tile`` holds each.
    """
    step = max(cut.vector)
    found = {}
    for name, place in places.items():
        tile = cut.tile[place]
        if tile > 1 and rng.random() < FITTED_SHARE:
            found[name] = near_tile(tile, step if tile % step == 0 else 1, rng)
        elif tile == 1 and not found and rng.random() < LONG_SHARE:
            found[name] = int(rng.choice(LONG))
    return found
