"""Laws of a GEMM: linear in A and B; batch, rows, columns and reduction in another order, or in parts.

They are called after the letters of a convolution without space, as records have them: g the batch, n the rows of C,
k its columns, c the reduction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bitgate.operation.law import LINEAR, Axis, Law, cut, turned
from bitgate.operations.gemm.problem import GemmProblem


def _resized(name: str) -> Callable[[GemmProblem, int], GemmProblem]:
    def resized(problem: GemmProblem, length: int) -> GemmProblem:
        changes: dict[str, Any] = {name: length}
        return replace(problem, **changes)

    return resized


AXES = tuple(
    Axis(letter, noun, places, _resized(name), apart=letter == "g")
    for letter, name, noun, places in (
        ("g", "batch", "groups", {"in": 0, "wei": 0, "out": 0}),
        ("n", "m", "images", {"in": 1, "out": 1}),
        ("k", "n", "channels k", {"wei": 1, "out": 2}),
        ("c", "k", "channels c", {"in": 2, "wei": 2}),
    )
)

LAWS: tuple[Law, ...] = (LINEAR, *map(turned, AXES), *map(cut, AXES))
