"""The three passes as one trilinear form: T(x, w, y) = sum x[g,n,c,i] * w[g,k,c,f] * y[g,n,k,o] over the terms with
i = o * stride + f * dilation - left_pad; each pass leaves one of the three out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from bitgate.model.form import Array, Form
from bitgate.ops.convolution.problem import ConvProblem
from bitgate.ops.convolution.window import meeting

_CHANNELS = {"in": "gnc", "wei": "gkc", "out": "gnk"}
POSITIONS = {"in": "i", "wei": "f", "out": "o"}
"""What the spatial axes of each tensor count."""


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
