"""Laws of a reduction: its rows stand in any order, and the cells of a row too, as long as nobody asks for their place.

A sum is linear beside that. Rows are named after the letters of case ids: o outer, l the length, i inner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bitgate.operation.law import LINEAR, Axis, Law, cut, turned
from bitgate.operations.reduction.problem import ReductionProblem


def _resized(name: str) -> Callable[[ReductionProblem, int], ReductionProblem]:
    def resized(problem: ReductionProblem, length: int) -> ReductionProblem:
        changes: dict[str, Any] = {name: length}
        return replace(problem, **changes)

    return resized


ROWS = tuple(
    Axis(letter, noun, {"x": place, "y": at, "index": at}, _resized(noun), indices=("index",))
    for letter, noun, place, at in (("o", "outer", 0, 0), ("i", "inner", 2, 1))
)
LENGTH = Axis("l", "length", {"x": 1}, _resized("length"))

LAWS: tuple[Law, ...] = (LINEAR, *map(turned, (*ROWS, LENGTH)), *map(cut, ROWS))
