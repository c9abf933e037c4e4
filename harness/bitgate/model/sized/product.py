"""The product of all that is read, summed over the axes that the result has not."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from bitgate.model.form import Array, Form
from bitgate.model.sized.problem import SizedProblem


class Product(Form):
    """``y[r] = sum_c x[r,c] * w[c]`` of tensors x (r, c), w (c) and y (r)."""

    def __init__(self, problem: SizedProblem) -> None:
        taken = [one for one in problem.stated if not one.is_written or one.role == problem.result]
        self._axes = MappingProxyType({one.role: tuple(one.axes) for one in taken})
        self._result = problem.result

    @property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        return self._axes

    @property
    def result(self) -> str:
        return self._result

    def apply(self, arrays: Mapping[str, Array]) -> Array:
        operands = ",".join("".join(self.axes[role]) for role in self.operands)
        subscripts = f"{operands}->{''.join(self.axes[self.result])}"
        return np.asarray(np.einsum(subscripts, *(arrays[role] for role in self.operands)))

    def terms(self, lengths: Mapping[str, tuple[int, ...]]) -> int:
        """From the lengths alone: a problem may be one that no memory holds."""
        found = {name: n for role in self.operands for name, n in zip(self.axes[role], lengths[role], strict=True)}
        return prod(n for name, n in found.items() if name not in self.axes[self.result])
