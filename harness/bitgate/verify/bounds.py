"""Real numbers: each cell may differ from an f64 reference by what its own sum can lose, and by no more.

For a cell that sums n products with magnitude S = sum |a||b|, a kernel that accumulates with unit roundoff u loses at
most (n + 4) * u * S in any order (4 for the element-wise operation), each partial sum in a narrower type one rounding
of that type more, and the last rounding half a unit of the result's type. There is no global tolerance: a border cell
with few terms gets a small bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from bitgate.errors import UsageError
from bitgate.exact.ordered import ordered_reference
from bitgate.exact.tensor import HostTensor
from bitgate.problem import DTYPES, ConvProblem, DtypeSet, Pass, sub_gemms
from bitgate.problem.accumulation import Accumulation

OPERATION_STEPS = 4
MOST_PARTIALS = 128
"""Partial sums that a split reduction has at most: CK's cap."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """``value`` is the f64 result and ``slack`` how far a cell may be from it, both in logical order."""

    value: NDArray[np.float64]
    slack: NDArray[np.float64]
    largest: float
    """Largest finite number of the result's type: beyond it a cell may be infinite."""

    def outside(self, result: NDArray[Any]) -> NDArray[np.bool_]:
        """True where a cell is farther from the value than it may be, or is NaN."""
        with np.errstate(invalid="ignore"):
            wide = result.astype(np.float64)
            inside = np.abs(wide - self.value) <= self.slack
            overflow = np.isinf(wide) & (np.sign(wide) == np.sign(self.value))
            inside |= overflow & (np.abs(self.value) + self.slack > self.largest)
        return np.asarray(~inside)


def bounded_reference(
    problem: ConvProblem, inputs: dict[str, HostTensor], accumulation: Accumulation
) -> tuple[HostTensor, Bounds]:
    """The f64 result rounded to the result's type, and the bound of each cell.

    UsageError for integer results (they are exact or wrong) and for a compute type of its own, whose rounding of the
    operands no bound here covers.
    """
    own = problem.tensors[problem.result]
    if not own.dtype.is_float or problem.dtypes.compute is not None:
        raise UsageError(f"{problem.dtypes}: only float results without a compute type have bounds; use --fill exact")
    wide = replace(problem, dtypes=DtypeSet(*[DTYPES["f64"]] * 3))
    value = ordered_reference(wide, {name: _widened(wide, tensor) for name, tensor in inputs.items()}).logical
    magnitude = ordered_reference(wide, {name: _widened(wide, t, absolute=True) for name, t in inputs.items()}).logical
    unit = 2.0**-accumulation.accumulator.mantissa
    # The f64 reference rounds as well; it counts only where the kernel sums in f64 too.
    steps = (_longest_sum(problem) + OPERATION_STEPS) * (unit + 2.0**-53)
    if accumulation.partial is not None:
        steps += MOST_PARTIALS * 2.0**-accumulation.partial.mantissa
    slack = steps * magnitude
    slack += 2.0**-own.dtype.mantissa * (np.abs(value) + slack) + _smallest(own.dtype.numpy)
    reference = HostTensor.empty(own)
    with np.errstate(over="ignore"):
        reference.logical[...] = value.astype(own.dtype.numpy)
    return reference, Bounds(value, slack, _largest(own.dtype.numpy))


def _longest_sum(problem: ConvProblem) -> int:
    """Products that one cell sums at most; a cell of dx meets only the taps of its residue class."""
    if problem.direction is Pass.BWD_DATA:
        return max(gemm.k for gemm in sub_gemms(problem))
    return problem.reduction


def _widened(wide: ConvProblem, tensor: HostTensor, absolute: bool = False) -> HostTensor:
    twin = HostTensor.empty(wide.tensors[tensor.tensor.name])
    cells = tensor.logical.astype(np.float64)
    twin.logical[...] = np.abs(cells) if absolute else cells
    return twin


def _smallest(dtype: np.dtype[Any]) -> float:
    return float(ml_dtypes.finfo(dtype).smallest_subnormal)  # type: ignore[no-untyped-call]


def _largest(dtype: np.dtype[Any]) -> float:
    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
