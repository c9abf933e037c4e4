"""The judging of a sized operation: the form of a product, and what its author states of the maths."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bitgate.model.dtype import Dtype
from bitgate.model.fill import CORE_FILLS, Fill
from bitgate.model.form import Array, Form
from bitgate.model.numerics import Accumulation, Numerics
from bitgate.model.sized.problem import SizedProblem

if TYPE_CHECKING:
    from bitgate.model.sized.operation import Sized


class Product(Form):
    """The form of a product: ``y[r] = sum_c x[r,c] * w[c]`` of tensors x (r, c), w (c) and y (r)."""

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
        """Return the terms from the lengths alone: a problem may be one that no memory holds."""
        found = {name: n for role in self.operands for name, n in zip(self.axes[role], lengths[role], strict=True)}
        return prod(n for name, n in found.items() if name not in self.axes[self.result])


class SizedNumerics(Numerics):
    def __init__(self, operation: Sized) -> None:
        self._operation = operation
        self.own_fills = tuple(fill.name for fill in operation.fills)

    def form(self, problem: SizedProblem) -> Form | None:
        return self._operation.form(problem)

    def fills(self, problem: SizedProblem) -> tuple[Fill, ...]:
        """Return the core's fills, where there is a form, then those of the operation, which replace the core's by
        name.

        Without a form but with a stated bound the core makes decimals, if all that is read are floats.
        """
        own = self._operation.fills
        if self.form(problem) is not None:
            return (*(fill for fill in CORE_FILLS if fill.name not in self.own_fills), *own)
        floats = all(problem.tensors[one.role].dtype.is_float for one in problem.stated if not one.is_written)
        core = CORE_FILLS if self._operation.states_bound and floats else ()
        return (*own, *(fill for fill in core if fill.name == "decimal" and fill.name not in self.own_fills))

    def operands(self, problem: SizedProblem) -> tuple[str, ...]:
        """Return the operands of the form; without a form all tensors that are read."""
        if self.form(problem) is not None:
            return super().operands(problem)
        return tuple(one.role for one in problem.stated if not one.is_written)

    @property
    def states_order(self) -> bool:  # type: ignore[override]
        return self._operation.states_order

    def ordered_sums(
        self, problem: SizedProblem, arrays: Mapping[str, Array], accumulator: Dtype, threads: int
    ) -> Array | None:
        return self._operation.ordered(problem, arrays, accumulator)

    def bound(
        self, problem: SizedProblem, inputs: Mapping[str, Array], accumulation: Accumulation
    ) -> Mapping[str, NDArray[np.float64]] | None:
        return self._operation.bound(problem, inputs, accumulation)
