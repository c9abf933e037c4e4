"""The three passes as one trilinear form over a sliding window.

T(x, w, y) = sum x[g,n,c,i] * w[g,k,c,f] * y[g,n,k,o] over the terms with i = o * stride + f * dilation - left_pad; each
pass leaves one of the three out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from bitgate.model.form import Array, Form
from bitgate.numerics.native import WindowView
from bitgate.ops.convolution.problem import ConvProblem


def window_of(problem: ConvProblem) -> WindowView:
    """Return the window on three axes; those that the problem does not have are of length 1."""
    ones = (1,) * (3 - problem.ndim)
    return WindowView(
        ones + problem.output,
        ones + problem.filter,
        ones + problem.stride,
        ones + problem.dilation,
        (0,) * len(ones) + problem.left_pad,
    )


def third(problem: ConvProblem, axis: int, known: dict[str, int]) -> int | None:
    """Return the coordinate that i = o * stride + f * dilation - left_pad leaves open; None if it is no whole number.

    ``known`` holds the other two by their letter.
    """
    stride, dilation, pad = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
    if "i" not in known:
        return known["o"] * stride + known["f"] * dilation - pad
    if "o" not in known:
        rest, step = known["i"] + pad - known["f"] * dilation, stride
    else:
        rest, step = known["i"] + pad - known["o"] * stride, dilation
    return rest // step if rest % step == 0 else None


def meeting(problem: ConvProblem, axis: int, tap: int) -> tuple[slice, slice]:
    """Return the input cells and the output positions that meet at a tap, along one axis."""
    stride = problem.stride[axis]
    shift = tap * problem.dilation[axis] - problem.left_pad[axis]
    first = max(0, -(shift // stride))
    end = max(first, min(problem.output[axis], (problem.input[axis] - 1 - shift) // stride + 1))
    begin = first * stride + shift
    return slice(begin, begin + (end - first) * stride, stride) if end > first else slice(0, 0), slice(first, end)


_CHANNELS = {"in": "gnc", "wei": "gkc", "out": "gnk"}
POSITIONS = {"in": "i", "wei": "f", "out": "o"}
"""The letters that the spatial axes of each tensor count."""


@dataclass(frozen=True)
class ConvolutionForm(Form):
    """Tap by tap: a plain definition, not made for speed."""

    problem: ConvProblem

    @property
    def result(self) -> str:
        return self.problem.result

    @cached_property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        places = range(self.problem.ndim)
        return {role: (*_CHANNELS[role], *(f"{POSITIONS[role]}{axis}" for axis in places)) for role in _CHANNELS}

    def reaches(self, role: str, axis: int, coordinate: int) -> bool:
        problem, at = self.problem, axis - len(_CHANNELS[role])
        if role not in ("in", "out") or at < 0:
            return True
        other, length = ("o", problem.output[at]) if role == "in" else ("i", problem.input[at])
        places = product(range(length), range(problem.filter[at]))
        return any(third(problem, at, {other: place, "f": tap}) == coordinate for place, tap in places)

    def apply(self, arrays: Mapping[str, Array]) -> Array:
        problem = self.problem
        first, second = problem.operands
        places = "xyz"[: problem.ndim]
        letters = {role: names + ("" if role == "wei" else places) for role, names in _CHANNELS.items()}
        sums: Array = np.zeros(problem.tensors[self.result].lengths, np.result_type(arrays[first], arrays[second]))
        for tap in product(*(range(length) for length in problem.filter)):
            cells, positions = zip(*(meeting(problem, axis, f) for axis, f in enumerate(tap)), strict=True)
            at: dict[str, tuple[Any, ...]] = {
                role: (..., *where) for role, where in (("in", cells), ("wei", tap), ("out", positions))
            }
            sums[at[self.result]] += np.einsum(
                f"{letters[first]},{letters[second]}->{letters[self.result]}",
                arrays[first][at[first]],
                arrays[second][at[second]],
            )
        return sums
